"""What is active when the extension is: {{ "its passes and hooks" if cookiecutter.__passes else "its hooks" }}."""

from __future__ import annotations

import dataclasses
from typing import Any

import tritonext
from tritonext.pipeline import Pipeline, of_passes

{% if cookiecutter.with_profiler %}
from .profile import marks_of, profile
{% endif %}
{% if cookiecutter.with_backend %}
from .residency import ctas_of, residency
{% endif %}

__all__ = ["pipeline"]


def pipeline(
{%- if cookiecutter.with_backend %}ctas_per_sm: Any = 2, {% endif %}
{%- if cookiecutter.with_profiler %}marks: Any = True, {% endif %}
**options: Any) -> Pipeline:
    """Return the passes of the manifest at their anchors, and the hooks.

    Args:
{% if cookiecutter.with_backend %}
        ctas_per_sm: How many programs of a kernel a multiprocessor has to have room for, 1 to 32.
{% endif %}
{% if cookiecutter.with_profiler %}
        marks: Whether kernels tell a profiler where they begin and end.
{% endif %}
        options: Options of passes.

    Raises:
        OptionError: An option has no such value, or no pass has it.
    """
    passes = of_passes(tritonext.extension("{{cookiecutter.id}}"), **options)
    hooks = [
{%- if cookiecutter.with_backend %}residency(ctas_of(ctas_per_sm)){% endif %}
{%- if cookiecutter.with_backend and cookiecutter.with_profiler %}, {% endif %}
{%- if cookiecutter.with_profiler %}*profile(marks_of(marks)){% endif %}]
    return dataclasses.replace(passes, steps=(*passes.steps, *hooks))
