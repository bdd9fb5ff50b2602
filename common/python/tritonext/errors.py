"""The exception hierarchy and the one renderer of every message the project shows a person.

Each message answers four questions: what was expected, what was found, where, and what to do. Code raises a class
from this module with the answers as arguments; :func:`render` lays them out the same way everywhere.
"""

from __future__ import annotations

__all__ = [
    "AbiError",
    "AmbiguousAnchorError",
    "DiagnosticError",
    "ExtensionError",
    "IncompatibleLibraryError",
    "InternalError",
    "InvalidLibraryError",
    "KernelError",
    "LoadError",
    "ManifestError",
    "MissingLibraryError",
    "NameClashError",
    "OptionError",
    "PipelineConflictError",
    "PipelineError",
    "StampError",
    "ToolchainError",
    "TritonextError",
    "UnknownAnchorError",
    "UnknownExtensionError",
    "UnknownPassError",
    "UnmetRequirementError",
    "UserError",
    "install_command",
    "render",
]


def install_command(distribution: str) -> str:
    """Return the command that installs a distribution of ours anew, for hints.

    It names a wheel as a file and leaves the dependencies alone: the names are not published, and pip would look them
    up on the public index.
    """
    return f"pip install --force-reinstall --no-deps dist/{distribution.replace('-', '_')}-*.whl"


class TritonextError(Exception):
    """Root of every error raised on purpose by tritonext.

    Args:
        message: One sentence saying what went wrong, lowercase, without a full stop.
        expected: What would have been accepted.
        found: What was there instead.
        where: File, kernel line, distribution or stage the error is about.
        hint: What the reader can do, as an instruction.
        details: Further lines, such as the list of accepted names.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: object = None,
        found: object = None,
        where: object = None,
        hint: str | None = None,
        details: tuple[str, ...] | list[str] = (),
    ) -> None:
        self.message = message
        self.expected = expected
        self.found = found
        self.where = where
        self.hint = hint
        self.details = tuple(details)
        # Not through `super`: a class that is an error of Triton too would pass the message to Triton's constructor.
        Exception.__init__(self, message)

    def __str__(self) -> str:
        return render(self)

    def __reduce__(self):
        # Errors cross process boundaries in compile pools; the default reduction would drop the keyword arguments.
        return _rebuild, (type(self), self.message, {name: getattr(self, name) for name in _FIELDS})


_FIELDS = ("expected", "found", "where", "hint", "details")


def _rebuild(cls: type[TritonextError], message: str, fields: dict) -> TritonextError:
    return cls(message, **fields)


class UserError(TritonextError):
    """Something the caller or kernel author can correct in their own code or command."""


class UnknownExtensionError(UserError):
    """No installed extension has the requested id."""


class UnknownPassError(UserError):
    """No stock or extension pass has the requested name."""


class OptionError(UserError):
    """An option of a pass, an extension or a command is unknown or has an unusable value."""


class DiagnosticError(UserError):
    """MLIR refused a module or a pass failed on it.

    Attributes:
        diagnostics: The messages, as ``tritonext._triton.ir.Diagnostic`` objects.
        crashed: Whether a pass ended by a signal, such as that of a failed assertion.
    """

    diagnostics: tuple = ()
    crashed: bool = False

    def __reduce__(self):
        return *super().__reduce__(), {"diagnostics": self.diagnostics, "crashed": self.crashed}


class KernelError(DiagnosticError):
    """A pass of an extension found a mistake in a kernel; ``where`` is the line of the kernel.

    The first of ``diagnostics`` is the error, those behind it are its notes and further errors of the same pass.
    """


class PipelineError(UserError):
    """A pipeline cannot be built or applied as written."""


class UnknownAnchorError(PipelineError):
    """A step names a stock pass that the stage does not run."""


class AmbiguousAnchorError(PipelineError):
    """A step names a stock pass that the stage runs more than once, without saying which occurrence."""


class PipelineConflictError(PipelineError):
    """Two steps of the composed pipelines cannot both hold."""


class ExtensionError(TritonextError):
    """An extension distribution is broken, incompatible or incomplete."""


class ManifestError(ExtensionError):
    """A manifest is missing, malformed, or written for a newer schema."""


class StampError(ExtensionError):
    """A build stamp is missing or unreadable."""


class LoadError(ExtensionError):
    """An extension library was refused before or while it was loaded."""


class MissingLibraryError(LoadError):
    """The library of an extension does not exist or cannot be read."""


class InvalidLibraryError(LoadError):
    """The file is no shared library, or has no plugin entry point."""


class IncompatibleLibraryError(LoadError):
    """The library was built for another Triton, LLVM, plugin API or compiler."""


class NameClashError(LoadError):
    """Two extensions define a pass, dialect or op of the same name."""


class UnmetRequirementError(LoadError):
    """An extension that another one requires is absent or has the wrong version."""


class ToolchainError(TritonextError):
    """No usable compiler, headers or TableGen could be found or provided."""


class AbiError(TritonextError):
    """The plugin and libtriton disagree about a type, or a symbol is missing."""


class InternalError(TritonextError):
    """A defect of tritonext itself; the message asks for a report."""


def render(error: TritonextError) -> str:
    """Return the text of ``error``: message first, then one labelled line for each answer it carries."""
    lines = [error.message]
    for label, value in (("where", error.where), ("expected", error.expected), ("found", error.found)):
        if value is not None:
            lines.append(f"  {label}: {value}")
    lines.extend(f"  {line}" for line in error.details)
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    return "\n".join(lines)
