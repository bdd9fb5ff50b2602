"""The public names, and what importing them costs."""

from __future__ import annotations

import pickle

import pytest

import tritonext
from tritonext import errors
from tritonext._triton.ir import Diagnostic
from tritonext.testing import run_python


def test_import_takes_in_neither_triton_nor_extensions():
    code = (
        "import sys, tritonext\n"
        "heavy = [name for name in sys.modules if name.split('.')[0] in ('triton', 'torch', 'packaging', 'rich')]\n"
        "heavy += [name for name in sys.modules if name.startswith('tritonext_')]\n"
        "sys.exit(', '.join(heavy) or 0)\n"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done


@pytest.mark.parametrize("name", tritonext.__all__)
def test_every_public_name_resolves(name):
    assert getattr(tritonext, name) is not None
    assert name in dir(tritonext)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = tritonext.no_such_name


def test_errors_cross_processes():
    error = errors.DiagnosticError("the pass failed", where="a.mlir", details=["x"], hint="y")
    error.diagnostics = (Diagnostic("error", "message", "a.mlir", 1, 2),)
    error.crashed = True
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))
    assert (copy.diagnostics, copy.crashed) == (error.diagnostics, True)
