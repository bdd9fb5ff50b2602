"""Run the kernels in Triton's own interpreter: ``TRITON_INTERPRET=1 python -m corpus [NAME …]``."""

from tritonext.testing.cases import interpreter

from . import KERNELS

if __name__ == "__main__":
    interpreter.main(KERNELS)
