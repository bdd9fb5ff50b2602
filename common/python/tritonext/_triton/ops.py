"""The object behind an op of an extension: a function the front end calls and the cache key follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton import knobs
from triton.runtime.jit import ConstexprFunction

from tritonext import activation, cachekey
from tritonext._triton import caching
from tritonext.errors import PipelineError, UserError

__all__ = ["Op", "interpreting"]

# Triton checks at each launch that the globals a kernel uses are what they were; these never change.
_markers: dict[str, str] = {}


def interpreting() -> bool:
    """Return whether kernels run in Triton's interpreter."""
    return bool(knobs.runtime.interpret)


class Op(ConstexprFunction):
    """An op of an extension.

    Triton's builtins are left out of a kernel's cache key. A ``ConstexprFunction`` is followed like a
    ``@triton.jit`` function and called like a builtin, so the key below reaches every kernel that uses the op, also
    through helpers, and so does the marker among the used globals, which tells :mod:`.caching` to opt the kernel in.

    Args:
        function: Function that builds the op.
        extension: Id of its extension.
        interpreted: Whether the function can be called with the semantics of Triton's interpreter.
    """

    def __init__(self, function: Callable[..., Any], extension: str, interpreted: bool = False) -> None:
        super().__init__(function)
        self.extension = extension
        self.interpreted = interpreted
        marker = caching.MARKER + extension
        _markers[marker] = extension
        self.used_global_vals = {(marker, id(_markers)): (extension, _markers)}
        caching.install_opt_in()

    @property
    def cache_key(self) -> str:
        return cachekey.digest(cachekey.extension_digest(self.extension), self._fn_name)

    def __hash__(self) -> int:
        return id(self)

    def __call__(self, *args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        where = f"op {self.__name__}"
        if _semantic is None and knobs.runtime.interpret:
            return self._interpret(*args, **kwargs)
        if _semantic is None:
            raise PipelineError(
                "an op of an extension is called outside a kernel",
                where=where,
                hint="call it from a function decorated with @triton.jit",
            )
        own = [pipeline for pipeline in activation.active() if pipeline.extension == self.extension]
        if not own:
            raise PipelineError(
                f"the kernel uses an op of the extension {self.extension!r} but compiles without its pipeline",
                where=where,
                hint="call triton.compile through its module; a reference taken before the extension was imported "
                "is Triton's own",
            )
        options = _semantic.builder.options
        target = f"{options.backend_name}:{str(options.arch).removeprefix('sm')}"
        if not any(not pipeline.targets or target in pipeline.targets for pipeline in own):
            raise PipelineError(
                f"the extension {self.extension!r} cannot lower its ops for this target",
                where=where,
                expected=", ".join(own[0].targets),
                found=target,
            )
        return self.fn(*args, _semantic=_semantic, **kwargs)

    def _interpret(self, *args: Any, **kwargs: Any) -> Any:
        """Run the op in Triton's interpreter, which hands its semantics to its own builtins alone."""
        if not self.interpreted:
            raise UserError(
                "the op does not run in Triton's interpreter",
                where=f"{self.extension}.{self.__name__}",
                hint="unset TRITON_INTERPRET",
            )
        # It needs NumPy, which compilations do not.
        from .interpreter import SEMANTIC

        return self.fn(*args, _semantic=SEMANTIC, **kwargs)
