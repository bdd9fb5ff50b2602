"""Existing kernels: the name of published TLX, its launch option, and taking both back."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib
import pickle
import subprocess
import sys
import types

import pytest
import triton
import triton.language as tl

import tritonext_tlx
from tritonext import cachekey
from tritonext._triton.caching import extensions_used
from tritonext.errors import ExtensionError, UserError
from tritonext.offline import Specialization, parse_signature
from tritonext.testing import fake_driver
from tritonext_tlx.compat import NAME

PUBLISHED = pathlib.Path(__file__).resolve().parents[4] / "ci" / "published_tlx.py"

SOURCE = f"""
import triton
import triton.language as tl
import {NAME} as tlx


@triton.jit
def copy(x, y):
    at = tl.arange(0, 64)
    buffer = tlx.local_alloc((64,), tl.float32, 1)[0]
    tlx.local_store(buffer, tl.load(x + at))
    tl.store(y + at, tlx.local_load(buffer))
"""


@pytest.fixture
def compat():
    with tritonext_tlx.install_compat() as handle:
        yield handle


@pytest.fixture
def written(tmp_path):
    """Import a file with kernels, as their author wrote it."""

    def load(source: str) -> types.ModuleType:
        path = tmp_path / "written.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location("written", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def launches(monkeypatch):
    """The grid and the size of the cluster of each launch on a GPU that is not there."""
    made = []

    def launcher(source, metadata):
        return lambda x, y, z, stream, function, packed, *rest: made.append(((x, y, z), packed[1]))

    with fake_driver.active("cuda:90"):
        monkeypatch.setattr(triton.runtime.driver.active, "launcher_cls", launcher)
        yield made


@pytest.fixture
def x():
    return fake_driver.Array("fp32")


def fresh():
    """Return a kernel that nothing was compiled for yet."""

    @triton.jit
    def kernel(x, BLOCK: tl.constexpr = 64):
        tl.store(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1.0)

    return kernel


# --- the name --------------------------------------------------------------------------------------------------------


def test_the_name_gives_the_ops(compat):
    from triton.language.extra import tlx

    assert importlib.import_module(NAME) is tlx
    assert {name: getattr(tlx, name) for name in tlx.__all__} == {
        name: getattr(tritonext_tlx, name) for name in tritonext_tlx.__all__
    }
    assert set(tritonext_tlx.__all__) <= set(dir(tlx))
    with pytest.raises(AttributeError, match="no_such_op"):
        _ = tlx.no_such_op


def test_a_kernel_through_the_name_is_the_same_kernel(compat, written, compiled):
    by_name = compiled(written(SOURCE).copy, "x=*fp32:16, y=*fp32:16")
    own = compiled(written(SOURCE.replace(NAME, "tritonext_tlx")).copy, "x=*fp32:16, y=*fp32:16")
    assert by_name.asm["ptx"] == own.asm["ptx"]
    assert "ttg.local_store" in by_name.asm["ttgir"]


def test_a_kernel_through_the_name_opts_in(compat, written, monkeypatch):
    before = written(SOURCE).copy
    assert extensions_used(before) == {"tlx"}
    monkeypatch.setattr(cachekey, "extension_digest", lambda identifier: "the content of another release")
    assert written(SOURCE).copy.cache_key != before.cache_key


def test_modules_are_not_loaded_twice(compat):
    with pytest.raises(ModuleNotFoundError, match="is not a package"):
        importlib.import_module(f"{NAME}.types")


def test_without_the_call_there_is_no_such_name():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(NAME)


def test_the_last_handle_takes_it_back():
    first, second = tritonext_tlx.install_compat(), tritonext_tlx.install_compat()
    first.uninstall()
    first.uninstall()
    assert importlib.import_module(NAME).local_alloc is tritonext_tlx.local_alloc
    second.uninstall()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(NAME)
    assert not hasattr(importlib.import_module("triton.language.extra"), "tlx")


def test_another_tlx_is_refused(monkeypatch):
    other = types.ModuleType(NAME)
    other.__spec__ = importlib.machinery.ModuleSpec(NAME, None, origin="/somewhere/tlx/__init__.py")
    monkeypatch.setitem(sys.modules, NAME, other)
    with pytest.raises(ExtensionError, match=r"another TLX[\s\S]*/somewhere/tlx/__init__.py"):
        tritonext_tlx.install_compat()
    assert "ctas_per_cga" not in vars(triton.Config({}))


# --- the launch option -----------------------------------------------------------------------------------------------


def test_a_configuration_keeps_the_option(compat):
    config = triton.Config({"BLOCK": 64}, num_warps=8, ctas_per_cga=[2, 1, 1])
    same = triton.Config({"BLOCK": 64}, num_warps=8, ctas_per_cga=(2, 1, 1))
    assert config == same
    assert hash(config) == hash(same)
    assert config != triton.Config({"BLOCK": 64}, num_warps=8)
    assert "ctas_per_cga: (2, 1, 1)" in str(config)
    assert pickle.loads(pickle.dumps(config)) == config
    # As the autotuner stores its results.
    assert triton.Config(**{**vars(config), "kwargs": {"BLOCK": 64, "ctas_per_cga": [2, 1, 1]}}) == config
    assert triton.Config({"BLOCK": 64}, ctas_per_cga=None) == triton.Config({"BLOCK": 64})


@pytest.mark.parametrize("shape", [2, (2, 1), (3, 1, 1), (0, 1, 1), (True, 1, 1), ("2", 1, 1)])
def test_no_shape_is_refused(compat, shape):
    with pytest.raises(UserError, match=r"the shape of the cluster is malformed[\s\S]*\(16, 1, 1\)"):
        triton.Config({}, ctas_per_cga=shape)


@pytest.mark.parametrize("shape", [(4, 4, 1), (1, 16, 1), (16, 2, 1)])
def test_too_many_blocks_are_refused(compat, shape):
    with pytest.raises(UserError, match="the cluster has too many blocks"):
        triton.Config({}, ctas_per_cga=shape)


def test_clusters_along_other_axes_are_stated_by_the_kernel(compat, launches, x):
    """The launcher makes them along the first axis only, and leaves those alone that a kernel states."""
    kernel = fresh()
    plain = kernel[(8, 6)](x)
    clusters = kernel[(8, 6)](x, ctas_per_cga=(4, 2, 1))
    assert launches == [((8, 6, 1), 1)] * 2
    ptx = clusters.asm["ptx"]
    assert ".explicitcluster\n.reqnctapercluster 4, 2, 1\n.reqntid" in ptx
    assert ptx.replace(".explicitcluster\n.reqnctapercluster 4, 2, 1\n", "") == plain.asm["ptx"]
    assert clusters.hash != plain.hash
    with pytest.raises(UserError, match=r"a second size that 2 divides[\s\S]*\(8, 3\)"):
        kernel[(8, 3)](x, ctas_per_cga=(4, 2, 1))


def test_blocks_of_a_cluster_are_programs(compat, launches, x):
    kernel = fresh()
    clusters = kernel[(8, 3)](x, ctas_per_cga=(2, 1, 1))
    plain = kernel[(8, 3)](x)
    assert launches == [((4, 3, 1), 2), ((8, 3, 1), 1)]
    # Launched as a cluster and compiled as one block: `num_ctas=2` would spread the tensor over both.
    assert clusters.metadata.num_ctas == 2
    assert '"ttg.num-ctas" = 1' in clusters.asm["ttgir"]
    assert "%ctaid.x" in clusters.asm["ptx"]
    assert clusters.asm["ptx"] == plain.asm["ptx"]
    assert clusters.hash != plain.hash


def test_a_cluster_from_the_cache_is_launched_as_one(compat, launches, x):
    fresh()[(8,)](x, ctas_per_cga=(4, 1, 1))
    fresh()[lambda arguments: (arguments["BLOCK"],)](x, ctas_per_cga=(4, 1, 1))
    assert launches == [((2, 1, 1), 4), ((16, 1, 1), 4)]


def test_clusters_of_one_block_are_plain_launches(compat, launches, x):
    kernel = fresh()
    one = kernel[(7,)](x, ctas_per_cga=(1, 1, 1))
    none = kernel[(7,)](x, ctas_per_cga=None)
    assert one is none is kernel[(7,)](x)
    assert launches == [((7, 1, 1), 1)] * 3


def test_an_autotuner_launches_its_configuration(compat, launches, x):
    tuned = triton.autotune([triton.Config({"BLOCK": 128}, ctas_per_cga=(2, 1, 1))], key=[])(fresh())
    tuned[lambda arguments: (arguments["BLOCK"],)](x)
    assert launches == [((64, 1, 1), 2)]


def test_a_grid_of_no_whole_clusters_is_refused(compat, launches, x):
    with pytest.raises(UserError, match=r"no whole number of clusters[\s\S]*\(7, 1\)"):
        fresh()[(7, 1)](x, ctas_per_cga=(2, 1, 1))
    with pytest.raises(UserError, match="no whole number of clusters"):
        fresh()[lambda arguments: (7,)](x, ctas_per_cga=(2, 1, 1))
    assert launches == []


def test_two_sizes_are_refused(compat, launches, x):
    with pytest.raises(UserError, match=r"two sizes for the cluster[\s\S]*num_ctas=2"):
        fresh()[(8,)](x, ctas_per_cga=(2, 1, 1), num_ctas=2)
    assert launches == []


def test_a_compilation_for_a_named_target_takes_it(compat):
    def compile_kernel(shape):
        kernel = Specialization(fresh(), parse_signature("x=*fp32:16"), {"BLOCK": 64}, {"ctas_per_cga": shape})
        return kernel.compile("cuda:90")

    assert compile_kernel((2, 1, 1)).metadata.num_ctas == 2
    assert compile_kernel(None).metadata.num_ctas == compile_kernel((1, 1, 1)).metadata.num_ctas == 1
    with pytest.raises(UserError, match="the shape of the cluster is malformed"):
        compile_kernel((3, 1, 1))


def test_taken_back_the_option_is_unknown(launches, x):
    run, init = triton.JITFunction.run, triton.Config.__init__
    with tritonext_tlx.install_compat():
        assert triton.JITFunction.run is not run
    assert triton.JITFunction.run is run
    assert triton.Config.__init__ is init
    with pytest.raises(TypeError, match="ctas_per_cga"):
        triton.Config({}, ctas_per_cga=(2, 1, 1))
    with pytest.raises(KeyError, match="ctas_per_cga"):
        fresh()[(8,)](x, ctas_per_cga=(2, 1, 1))


# --- published kernels -----------------------------------------------------------------------------------------------


@pytest.mark.network
@pytest.mark.slow
def test_published_kernels_compile():
    done = subprocess.run([sys.executable, PUBLISHED], check=False, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(f"no wheel of published TLX could be downloaded: {done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
