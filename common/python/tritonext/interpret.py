"""Running kernels of an extension without a GPU: what a simulator takes from Triton's interpreter.

It needs NumPy, and is imported by those who simulate only.
"""

from ._triton.interpreter import (
    PAD_NAN,
    Builder,
    Comparison,
    Semantics,
    TensorHandle,
    Transformer,
    bfloat16_bits,
    float8_bits,
    interpreted,
    numpy_dtype,
    round_to_tf32,
    scalar,
    widen,
)

__all__ = [
    "PAD_NAN",
    "Builder",
    "Comparison",
    "Semantics",
    "TensorHandle",
    "Transformer",
    "bfloat16_bits",
    "float8_bits",
    "interpreted",
    "numpy_dtype",
    "round_to_tf32",
    "scalar",
    "widen",
]
