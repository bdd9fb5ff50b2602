"""Existing TLX kernels on this package, unchanged but for one call.

:func:`install_compat` gives this package under the name by which published TLX is imported, and teaches launches and
``triton.Config`` the option ``ctas_per_cga``. Nothing happens without the call, and its result takes it back.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import math
import sys
import threading
import types
from typing import Any

import tritonext
from tritonext import launch
from tritonext.errors import ExtensionError, UserError

from .cluster import OPTION, along_first_axis, launched_as

__all__ = ["NAME", "OPTION", "Compatibility", "check_grid", "cluster_shape", "install_compat"]

NAME = "triton.language.extra.tlx"
"""The name by which published TLX is imported."""

_PARENT, _, _LEAF = NAME.rpartition(".")

_lock = threading.RLock()
_installed: list[Compatibility] = []
_option: Any = None


class Compatibility:
    """What :func:`install_compat` did, until :meth:`uninstall`; also a context manager that uninstalls at its end."""

    def uninstall(self) -> None:
        """Take back the name and the launch option, unless another call of ``install_compat`` still needs them.

        Later calls do nothing. Kernels that were imported meanwhile keep working.
        """
        with _lock:
            if self in _installed:
                _installed.remove(self)
                if not _installed:
                    _remove()

    def __enter__(self) -> Compatibility:
        return self

    def __exit__(self, *exception: object) -> None:
        self.uninstall()


def install_compat() -> Compatibility:
    """Let ``import triton.language.extra.tlx as tlx`` give this package, and launches take ``ctas_per_cga``.

    With ``ctas_per_cga=(n, 1, 1)``, in a launch or in ``triton.Config``, the blocks of the grid form clusters of ``n``;
    with more along the other axes too, clusters of that shape, whose ranks count along the first axis first.
    Unlike with Triton's ``num_ctas`` the grid counts blocks, each block is a program of its own, and tensors belong to
    one block.

    Returns:
        A handle whose ``uninstall()`` takes both back.

    Raises:
        ExtensionError: Another TLX is installed under that name.
        PipelineError: The installed Triton has the launch option itself.
    """
    global _option
    with _lock:
        if not _installed:
            _refuse_other()
            _option = launch.add_option(OPTION, _apply, cluster_shape)
            _provide()
        handle = Compatibility()
        _installed.append(handle)
    return handle


# --- the name --------------------------------------------------------------------------------------------------------


def _refuse_other() -> None:
    other = sys.modules.get(NAME)
    spec = other.__spec__ if other is not None else importlib.util.find_spec(NAME)
    if other is not None or spec is not None:
        raise ExtensionError(
            "another TLX is installed under the name",
            where=NAME,
            found=getattr(spec, "origin", None) or repr(other),
            hint="uninstall it, or import tritonext_tlx by its own name",
        )


def _provide() -> None:
    package = importlib.import_module(__package__)
    # No second package: imported through it, its modules would be loaded anew, with types of their own. And a plain
    # module, because Triton follows the references of kernels through nothing else.
    module = types.ModuleType(NAME, package.__doc__)
    module.__spec__ = importlib.machinery.ModuleSpec(NAME, None, origin=package.__file__)
    module.__file__ = package.__file__
    module.__all__ = package.__all__
    module.__getattr__ = _attribute
    module.__dir__ = functools.partial(dir, package)
    sys.modules[NAME] = module
    setattr(importlib.import_module(_PARENT), _LEAF, module)


def _attribute(name: str) -> Any:
    # Those of the module system, as `__path__`, are not handed on.
    if name.startswith("__"):
        raise AttributeError(f"module {NAME!r} has no attribute {name!r}")
    return getattr(sys.modules[__package__], name)


def _remove() -> None:
    global _option
    _option.remove()
    _option = None
    del sys.modules[NAME]
    delattr(sys.modules[_PARENT], _LEAF)


# --- the launch option -----------------------------------------------------------------------------------------------


def cluster_shape(value: Any) -> tuple[int, int, int]:
    """Return the shape of a cluster as a tuple.

    Raises:
        UserError: It is none, or one that the hardware has not.
    """
    try:
        shape = tuple(value)
    except TypeError:
        shape = ()
    if len(shape) == 3 and all(type(size) is int and size in (1, 2, 4, 8, 16) for size in shape):
        # More than 8 is not portable, and Triton's launcher allows it along the first axis.
        if math.prod(shape) <= (16 if along_first_axis(shape) else 8):
            return shape
        message = "the cluster has too many blocks"
    else:
        message = "the shape of the cluster is malformed"
    expected = "three sizes of 1, 2, 4 or 8 with a product of 8 at most, or (16, 1, 1)"
    raise UserError(message, where=OPTION, expected=expected, found=repr(value))


def _apply(value: Any, grid: Any, options: dict[str, Any]) -> tuple[Any, tritonext.use | None]:
    shape = cluster_shape(value)
    if options.get("num_ctas") not in (None, 1):
        raise UserError(
            "a launch has two sizes for the cluster",
            where=OPTION,
            found=f"{OPTION}={value!r} and num_ctas={options['num_ctas']!r}",
            hint="leave out num_ctas: with it the blocks of a cluster share one program",
        )
    return (grid, None) if shape == (1, 1, 1) else (_clusters(grid, shape), launched_as(*shape))


def _clusters(grid: Any, shape: tuple[int, int, int]) -> Any:
    """Return the grid to launch for one that counts blocks: in clusters along the first axis, and in blocks else."""
    if callable(grid):
        return lambda arguments: _clusters(grid(arguments), shape)
    sizes = tuple(grid)
    check_grid(sizes, shape)
    return (sizes[0] // shape[0], *sizes[1:]) if along_first_axis(shape) else sizes


def check_grid(sizes: tuple[int, ...], shape: tuple[int, int, int]) -> None:
    """Refuse a grid that is not made of whole clusters.

    Raises:
        UserError: It is not.
    """
    for axis, size, blocks in zip(("first", "second", "third"), (*sizes, 1, 1), shape):
        if size % blocks:
            raise UserError(
                "the grid is no whole number of clusters",
                where=OPTION,
                expected=f"a {axis} size that {blocks} divides",
                found=sizes,
                hint="round it up, and leave the blocks past the end without work",
            )
