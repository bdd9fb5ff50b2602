"""Describe a kernel's arguments and compile it for a named target, on any machine.

Triton compiles from a *source* (a function, the types of its arguments, the values of its constants, and what is
known about the arguments' divisibility) and a *target*. This module writes both down in the short form the command
line uses: ``a=*fp16:16, n=i32`` for arguments and ``cuda:90`` or ``hip:gfx942`` for targets. No GPU is needed.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, CompiledKernel, make_backend
from triton.runtime.jit import JITFunction

from ._triton import launching
from ._triton.sources import ast_source
from .errors import OptionError, UserError

__all__ = [
    "TARGETS",
    "Argument",
    "Specialization",
    "check_options",
    "parse_setting",
    "parse_signature",
    "parse_target",
]

TARGETS = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950")
"""The targets every extension is checked on."""

# CDNA and GCN chips run 64 lanes in step, RDNA (gfx10 and later) 32.
_WIDE_WAVE = ("gfx9",)
# LLVM ends the process on a capability it does not know.
_CAPABILITIES = (70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)
_CHIP = re.compile(r"gfx[0-9]+[0-9a-f]{2}(-strict)?")


@dataclass(frozen=True)
class Argument:
    """Type of one run-time argument.

    Args:
        type: Triton's spelling, such as ``*fp16``, ``i32`` or ``tensordesc<fp16[128,64]>``.
        divisible: Power of two that divides the value (of a pointer: its address), or 1 when nothing is known.
    """

    type: str
    divisible: int = 1

    def __str__(self) -> str:
        return self.type if self.divisible == 1 else f"{self.type}:{self.divisible}"


@dataclass(frozen=True)
class Specialization:
    """A kernel with everything Triton needs to compile it.

    Args:
        fn: The ``@triton.jit`` function.
        signature: Type of each run-time argument.
        constexprs: Value of each ``tl.constexpr`` argument.
        options: Compile options such as ``num_warps``.
    """

    fn: JITFunction
    signature: Mapping[str, Argument]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def attrs(self) -> dict[tuple[int, ...], list[list[Any]]]:
        """Divisibility in the form Triton takes it, keyed by argument position."""
        names = self.fn.arg_names
        return {
            (names.index(name),): [["tt.divisibility", argument.divisible]]
            for name, argument in self.signature.items()
            if argument.divisible > 1
        }

    def override(self, **values: Any) -> Specialization:
        """Return a copy with constants (names of kernel arguments) and compile options (any other name) replaced."""
        names = self.fn.arg_names
        constexprs = {name: value for name, value in values.items() if name in names}
        options = {name: value for name, value in values.items() if name not in names}
        return replace(
            self,
            signature={name: type_ for name, type_ in self.signature.items() if name not in constexprs},
            constexprs={**self.constexprs, **constexprs},
            options={**self.options, **options},
        )

    def missing(self) -> list[str]:
        """Names of the arguments that have neither a type nor a value."""
        given = {*self.signature, *self.constexprs}
        return [
            parameter.name
            for parameter in self.fn.params
            if parameter.name not in given and not (parameter.is_constexpr and parameter.has_default)
        ]

    def source(self) -> ASTSource:
        """Return Triton's compile source.

        Raises:
            UserError: An argument is unknown, has neither a type nor a value, or has a type that Triton does not know.
        """
        names = self.fn.arg_names
        where = f"kernel {self.fn.__name__}"
        for name in (*self.signature, *self.constexprs):
            if name not in names:
                close = difflib.get_close_matches(name, names, n=1)
                raise UserError(
                    f"the kernel has no argument named {name!r}",
                    where=where,
                    expected=", ".join(names),
                    hint=f"write {close[0]!r}" if close else None,
                )
        if missing := self.missing():
            raise UserError("some arguments have neither a type nor a value", where=where, found=", ".join(missing))
        constexprs = {
            parameter.name: parameter.default
            for parameter in self.fn.params
            if parameter.is_constexpr and parameter.has_default
        }
        constexprs.update(self.constexprs)
        for name, argument in self.signature.items():
            if name not in constexprs and not _is_type(argument.type):
                raise UserError(
                    "an argument has an unknown type",
                    where=f"{where}, argument {name}",
                    expected="i1, i8, i16, i32, i64, u8, u16, u32, u64, fp16, bf16, fp32, fp64, fp8e4nv, fp8e5, one of"
                    " them after * for a pointer, or one like tensordesc<fp16[64,32]>",
                    found=repr(argument.type),
                )
        signature = {name: "constexpr" if name in constexprs else self.signature[name].type for name in names}
        return ast_source(self.fn, signature, constexprs, self.attrs)

    def compile(self, target: str | GPUTarget, **overrides: Any) -> CompiledKernel:
        """Compile for ``target``, with ``overrides`` applied as by :meth:`override`.

        Options that extensions add to launches (:mod:`tritonext.launch`) act as in a launch.

        Raises:
            UserError: As :meth:`source`.
            OptionError: The target or a compile option is unknown, or an option has an unusable value.
        """
        chosen = self.override(**overrides) if overrides else self
        chip = parse_target(target) if isinstance(target, str) else target
        with launching.applied(chosen.options, self.fn.arg_names) as options:
            check_options(chip, options, f"kernel {self.fn.__name__}", self.fn.arg_names)
            return triton.compile(chosen.source(), target=chip, options=options)


def _is_type(text: str) -> bool:
    """Return whether a kernel can have an argument of this type."""
    try:
        parsed = triton.language.str_to_ty(text, None)
    except Exception:
        # Triton looks names up and splits texts without a check of its own.
        return False
    # MLIR ends the process on a pointer to a pointer.
    pointer = triton.language.pointer_type
    return not (isinstance(parsed, pointer) and isinstance(parsed.element_ty, pointer))


def check_options(target: GPUTarget, options: Mapping[str, Any], where: str, arguments: Iterable[str] = ()) -> None:
    """Refuse compile options that the backend of ``target`` does not have, or whose values it does not take.

    Args:
        target: What is compiled for.
        options: Compile options by name.
        where: What they belong to, for the message.
        arguments: Names that may have been meant: those of the kernel's arguments.

    Raises:
        OptionError: An option is unknown, which Triton ignores silently, or its value is unusable.
    """
    where = f"{where}, {target.backend}:{target.arch}"
    try:
        known = [option.name for option in fields(make_backend(target).parse_options(dict(options)))]
    except Exception as error:
        # Triton checks values with assertions and by using them.
        raise OptionError(
            "a compile option has an unusable value",
            where=where,
            found=", ".join(f"{name}={value!r}" for name, value in options.items()),
            details=[f"{type(error).__name__}: {error}"],
        ) from error
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, [*known, *arguments], n=1)
            raise OptionError(
                f"{name!r} is neither a compile option nor an argument of the kernel"
                if arguments
                else f"{name!r} is no compile option",
                where=where,
                expected=None if close else ", ".join(known),
                hint=f"write {close[0]!r}" if close else None,
            )


def parse_target(text: str) -> GPUTarget:
    """Return the target written as ``cuda:<capability>`` or ``hip:<chip>``.

    Raises:
        OptionError: ``text`` has another form.
    """
    backend, _, arch = text.partition(":") if isinstance(text, str) else ("", "", "")
    if backend == "cuda" and arch in map(str, _CAPABILITIES):
        return GPUTarget("cuda", int(arch), 32)
    if backend == "hip" and _CHIP.fullmatch(arch):
        return GPUTarget("hip", arch, 64 if arch.startswith(_WIDE_WAVE) else 32)
    raise OptionError(
        "unknown target",
        expected="cuda:<capability> or hip:<chip>, with a capability of " + ", ".join(map(str, _CAPABILITIES)),
        found=repr(text),
        hint=f"the targets checked by this project are {', '.join(TARGETS)}",
    )


def parse_signature(text: str) -> dict[str, Argument]:
    """Parse ``name=type[:divisible], …``; a comma inside brackets belongs to the type.

    Raises:
        OptionError: An item has another form, or its divisibility is no power of two.
    """
    arguments = {}
    for item in _split(text):
        name, equals, spelled = (part.strip() for part in item.partition("="))
        type_, colon, divisible = spelled.partition(":")
        if not (name.isidentifier() and equals and type_):
            raise OptionError("an argument type is malformed", expected="name=type or name=type:16", found=repr(item))
        number = int(divisible) if divisible.isdecimal() else 0
        if colon and (number < 1 or number & (number - 1)):
            raise OptionError(
                "a divisibility is not a power of two", where=f"argument {name}", expected="16", found=repr(divisible)
            )
        arguments[name] = Argument(type_, number or 1)
    return arguments


def parse_setting(text: str, option: str) -> tuple[str, Any]:
    """Parse ``name=value``, the value a Python literal or else a text.

    Args:
        text: The setting.
        option: Option of a command that takes it, for the message.

    Raises:
        OptionError: ``text`` has another form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise OptionError("a setting is malformed", where=option, expected="name=value", found=repr(text))
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _split(text: str) -> list[str]:
    """Split at top-level commas and drop empty items."""
    items, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "<[(") - (character in ">])")
        if character == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    return [item.strip() for item in (*items, text[start:]) if item.strip()]
