"""Compilers, and the layout table of the installed libtriton."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tritonext import toolchain
from tritonext._triton import wheel
from tritonext.abi import Table
from tritonext.abi.table import cached
from tritonext.errors import ToolchainError

INPUTS = pathlib.Path(__file__).parent / "inputs"
ROOT = pathlib.Path(__file__).parents[3]


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler and the flags it needs on this machine."""

    name: str
    command: tuple[str, ...]
    debug: tuple[str, ...]

    def build(self, out: pathlib.Path, *arguments: object) -> pathlib.Path:
        """Compile and link a shared library; a failure shows what the compiler said."""
        command = [*self.command, "-shared", "-fPIC", *map(str, arguments), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return out


@pytest.fixture(scope="session")
def gcc() -> Compiler:
    path = shutil.which("g++")
    if path is None:
        pytest.skip("there is no g++ on this machine")
    return Compiler("gcc", (path,), ("-g",))


@pytest.fixture(scope="session")
def tools() -> toolchain.Toolchain:
    try:
        return toolchain.find()
    except ToolchainError as error:
        pytest.skip(f"there is no toolchain; `tritonext toolchain` fetches one: {error.message}")


@pytest.fixture(scope="session")
def clang(tools) -> Compiler:
    return Compiler("clang", (str(tools.cxx), *tools.cxx_flags), ("-g", "-fstandalone-debug"))


@pytest.fixture(scope="session", params=["clang", "gcc"])
def compiler(request) -> Compiler:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def triton() -> wheel.Wheel:
    return wheel.installed()


@pytest.fixture(scope="session")
def host(triton) -> Table:
    return cached(triton.library)[0]


@pytest.fixture(scope="session")
def build_plugin(triton, tools) -> Callable[..., pathlib.Path]:
    """Compile inputs/plugin.cpp; include directories given as arguments come before those of the toolchain."""

    def build(compiler: Compiler, out: pathlib.Path, *first: pathlib.Path) -> pathlib.Path:
        directories = [*first, *tools.include_dirs, triton.include, ROOT / "common" / "include"]
        return compiler.build(
            out,
            *compiler.debug,
            *("-std=c++20", "-O0", "-fno-rtti", "-fvisibility=hidden", "-w", "-Wl,--build-id=sha1"),
            *(f"-I{directory}" for directory in directories),
            INPUTS / "plugin.cpp",
            *(f"-L{triton.library.parent}", f"-l:{triton.library.name}"),
        )

    return build


@pytest.fixture(scope="session")
def plugin(build_plugin, clang, tmp_path_factory) -> pathlib.Path:
    """A plugin that suits libtriton."""
    return build_plugin(clang, tmp_path_factory.mktemp("plugin") / "libplugin.so")
