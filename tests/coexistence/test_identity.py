"""The part of the conformance suite about kernels of stock Triton, with all extensions of this repository at once."""

from tritonext.testing.conformance.test_kernels import *  # noqa: F403
