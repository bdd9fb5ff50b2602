"""{{cookiecutter.description}}.

{% if cookiecutter.__passes %}
Importing loads and registers the passes; it activates none. Activate them with ``tritonext.use("{{cookiecutter.id}}")`` or
``TRITONEXT_ENABLE={{cookiecutter.id}}``.
{% else %}
Importing changes no kernel. Activate the extension with ``tritonext.use("{{cookiecutter.id}}")`` or
``TRITONEXT_ENABLE={{cookiecutter.id}}``.
{% endif %}
"""

import tritonext
{% if cookiecutter.__hooks or cookiecutter.with_op %}

{% if cookiecutter.__hooks %}
from .hooks import pipeline
{% endif %}
{% if cookiecutter.with_op %}
from .ops import {{cookiecutter.__op}}
{% endif %}
{% if cookiecutter.with_profiler %}
from .profile import Compilation, collect
{% endif %}
{% endif %}

{% if cookiecutter.with_profiler %}
__all__ = ["Compilation", "collect", "pipeline"{% if cookiecutter.with_op %}, "{{cookiecutter.__op}}"{% endif %}]
{% elif cookiecutter.with_backend %}
__all__ = ["pipeline"{% if cookiecutter.with_op %}, "{{cookiecutter.__op}}"{% endif %}]
{% elif cookiecutter.with_op %}
__all__ = ["{{cookiecutter.__op}}"]
{% else %}
__all__: list[str] = []
{% endif %}

tritonext.load("{{cookiecutter.id}}")
