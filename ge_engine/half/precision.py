"""Precision: which of GE's precision modes are emulated, and which file is emulated by which. It needs no onnx."""

from __future__ import annotations

from pathlib import Path

ORIGIN, FP16, CUBE = "origin", "fp16", "cube_fp16in_fp32out"

# The mode that a value of ge.exec.precision_mode_v2, or of the older precision_mode, stands for. The others hang on a
# table of one SoC (which ops may lose precision), or on number formats of its own.
_MODES = {
    ORIGIN: ORIGIN,
    "must_keep_origin_dtype": ORIGIN,
    FP16: FP16,
    "force_fp16": FP16,
    CUBE: CUBE,
    "force_fp32": CUBE,
}

# What the others mean, for people.
MEANINGS = {
    "mixed_float16": "fp16 for the operators that a table of the SoC lets lose precision",
    "mixed_bfloat16": "bfloat16 for the operators that a table of the SoC lets lose precision",
    "mixed_hif8": "hif8, a format of 8 bits, for the operators that a table of the SoC lets lose precision",
    "cube_hif8": "hif8, a format of 8 bits, for what multiplies matrices",
}


def mode_of(precision: str) -> str | None:
    """ORIGIN, FP16 or CUBE; None for what is not emulated: it runs as origin.

    >>> mode_of("force_fp16"), mode_of("mixed_float16")
    ('fp16', None)
    """
    return _MODES.get(precision)


def emulates(precision: str) -> bool:
    """Whether the graph is rewritten.

    >>> emulates("fp16"), emulates("origin"), emulates("mixed_float16")
    (True, False, False)
    """
    return mode_of(precision) in (FP16, CUBE)


def on_cpu(path: str, precision: str) -> str:
    """The file beside a built graph that a CPU runs in place of it, in a precision that is emulated.

    >>> on_cpu("stage_any.onnx", "force_fp16")
    'stage_any.fp16.onnx'
    """
    assert emulates(precision), precision
    return str(Path(path).with_suffix(f".{mode_of(precision)}.onnx"))
