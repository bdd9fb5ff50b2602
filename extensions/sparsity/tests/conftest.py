"""Products that the assembler serializes fail every test of the extension."""

import importlib.util

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if importlib.util.find_spec("tritonext_sparsity") is not None:
        config.addinivalue_line("filterwarnings", "error::tritonext_sparsity.SerializationWarning")
