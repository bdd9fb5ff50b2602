"""Generate the C++ plugin table of an extension from its manifest."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator

from .. import manifest
from .._triton import wheel
from ..toolchain import libtriton
from .cmake import write_if_changed

__all__ = ["plugin_table"]


def plugin_table(pyproject: pathlib.Path, out: pathlib.Path) -> manifest.Manifest:
    """Write ``PluginTable.inc`` for ``common/lib/PluginEntry.cpp`` into the directory ``out``.

    Each entry carries a ``#line`` that points at its line of the manifest, so that the compiler reports an entry
    without a definition where a person has to correct it.

    Args:
        pyproject: The extension's ``pyproject.toml``.
        out: Directory of the generated file.

    Raises:
        ManifestError: The manifest is malformed.
        ToolchainError: The LLVM commit of the installed Triton is not known.
    """
    entry = manifest.load(pyproject)
    text = "\n".join(_table(entry, pyproject, libtriton.llvm_commit(wheel.installed()))) + "\n"
    write_if_changed(out / "PluginTable.inc", text)
    return entry


def _table(entry: manifest.Manifest, pyproject: pathlib.Path, llvm_commit: str) -> Iterator[str]:
    source = pyproject.read_text(encoding="utf-8").splitlines()

    def line(value: str) -> str:
        """Return the directive for the manifest line that holds ``value`` as a string."""
        numbers = (number for number, text in enumerate(source, 1) if f'"{value}"' in text)
        return f'#line {next(numbers, 1)} "{pyproject.name}"'

    headers = {row.header for row in (*entry.dialects, *entry.ops)}
    yield "// Generated from pyproject.toml by tritonext.build; changes are lost."
    yield from (f'#include "{header}"' for header in sorted(headers))
    if entry.passes:
        # An extension whose pass options have types of its own declares them, and so the passes, in a Passes.h.
        yield f'#if __has_include("{entry.package}/Transforms/Passes.h")'
        yield f'#include "{entry.package}/Transforms/Passes.h"'
        yield "#else"
        yield f"namespace {entry.namespace} {{"
        yield "#define GEN_PASS_DECL"
        yield f'#include "{entry.package}/Transforms/Passes.h.inc"'
        yield f"}} // namespace {entry.namespace}"
        yield "#endif"
    yield "namespace {"
    yield f"constexpr const char *extensionId = {json.dumps(entry.id)};"
    yield f"constexpr const char *extensionVersion = {json.dumps(entry.version)};"
    yield f"constexpr const char *llvmCommit = {json.dumps(llvm_commit)};"

    def rows(kind: str, values: list[tuple[str, str]]) -> Iterator[str]:
        yield f"constexpr std::array<{kind}Record, {len(values)}> {kind.lower()}Records{{{{"
        for value, row in values:
            yield line(value)
            yield f"  {row},"
        yield "}};"

    yield from rows("Pass", [(p.definition, f'{{"{p.name}", {p.factory}}}') for p in entry.passes])
    yield from rows("Dialect", [(d.cxx_class, f'{{"{d.name}", insertDialect<{d.cxx_class}>}}') for d in entry.dialects])
    yield from rows("Op", [(o.function, f'{{"{o.name}", {o.function}}}') for o in entry.ops])
    yield "} // namespace"
