"""The conformance suite of the SDK, on every extension of this repository that is installed."""

# ruff: noqa: F403
from tritonext.testing.conformance.test_library import *
from tritonext.testing.conformance.test_passes import *
from tritonext.testing.conformance.test_sources import *
from tritonext.testing.conformance.test_wheel import *
