"""Activation by the environment variable ``TRITONEXT_ENABLE``, for scripts that know nothing of tritonext.

The wheel installs ``tritonext_autoload.pth``, which imports this module at interpreter start when the variable is set.
Nothing happens until ``triton`` is imported; then the pipelines are enabled for the process. Spawned workers inherit
the variable and do the same. A mistake in the variable is raised by ``import triton``. Where a module of tritonext or
an extension imports it, that module is completed first: what an extension's pipeline is, its whole package says.
"""

from __future__ import annotations

from . import _import_hook

__all__ = ["activate"]


def activate() -> None:
    """Enable what ``TRITONEXT_ENABLE`` describes.

    Raises:
        TritonextError: The variable is malformed, or an extension is unknown or refused.
    """
    from . import activation, env

    value = env.get("TRITONEXT_ENABLE")
    try:
        specs = activation.parse_specs(value)
        if specs:
            activation.enable(*specs)
    except Exception as error:
        # Nothing else in the traceback says that the script's own `import triton` asked for an extension.
        error.add_note(f"  from the environment: TRITONEXT_ENABLE={value}")
        raise


_import_hook.when_imported("triton", lambda _: _import_hook.when_complete("tritonext", activate))
