"""Find the platform tag a wheel may carry, by auditwheel's policies."""

from __future__ import annotations

import pathlib

from ..errors import AbiError
from . import symbols

__all__ = ["platform_tag"]

_EXCLUDED = frozenset({"libtriton.so"})
"""Libraries another distribution brings: the dependency on triton stands for it."""


def platform_tag(wheel: pathlib.Path, library: pathlib.Path, ceiling: str, objects: pathlib.Path) -> str:
    """Return the most compatible platform tag that the library of ``wheel`` satisfies.

    Args:
        wheel: A wheel with a ``linux`` tag.
        library: The library inside it, unpacked.
        ceiling: The newest tag that is acceptable, such as ``manylinux_2_28_x86_64``.
        objects: Directory of the object files behind the library, to name where a symbol comes from.

    Raises:
        AbiError: The library needs newer symbols or other libraries than ``ceiling`` allows; the details name them.
    """
    from auditwheel.architecture import Architecture
    from auditwheel.libc import Libc
    from auditwheel.wheel_abi import analyze_wheel_abi

    architecture = Architecture(ceiling.split("_", 3)[3])
    info = analyze_wheel_abi(Libc.GLIBC, architecture, wheel, _EXCLUDED, disable_isa_ext_check=False, allow_graft=False)
    allowed = next(policy for policy in info.policies if policy.name == ceiling)
    if not info.overall_policy < allowed:
        return info.overall_policy.name

    permitted = {f"{prefix}_{number}" for prefix, numbers in allowed.symbol_versions.items() for number in numbers}
    prefixes = tuple(f"{prefix}_" for prefix in allowed.symbol_versions)
    details = [
        f"{version}: {line}"
        for version, names in sorted(symbols.imported_versions(library).items())
        if version.startswith(prefixes) and version not in permitted
        for line in symbols.describe_users(names, objects, defined=False)
    ]
    details += [f"library {name}" for name in sorted(info.external_refs[allowed.name].libs)]
    details += [
        f"forbidden in {name}: {', '.join(found)}" for name, found in info.external_refs[allowed.name].blacklist.items()
    ]
    raise AbiError(
        "the library would not run on every system that Triton's wheel supports",
        where=library.name,
        expected=f"{ceiling} or older",
        found=info.overall_policy.name,
        details=details,
        hint="avoid the functions named above; the C library of this machine gave them a newer version",
    )
