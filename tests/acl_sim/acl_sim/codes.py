"""Codes of CANN: what a call returns, and what its arguments mean."""

from __future__ import annotations

import numpy as np

SUCCESS = 0
INVALID_PARAM = 100000
UNINITIALIZE = 100001
REPEAT_INITIALIZE = 100002
INVALID_FILE = 100003
INVALID_MODEL_ID = 100011
PARSE_MODEL = 100013
INPUT_NOT_MATCH = 100017
OUTPUT_NOT_MATCH = 100018
MODEL_NOT_DYNAMIC = 100019
BAD_ALLOC = 200000
FAILURE = 500000
INVALID_DEVICE = 107001
CONTEXT_NULL = 107002
STREAM_CONTEXT = 107003
NO_STREAM_RESOURCE = 207008
SYNC_TIMEOUT = 107020
GEAR_INVALID = 145013
AICORE_EXCEPTION = 507011

MALLOC_POLICIES = (0, 1, 2)  # huge first, huge only, normal only
H2H, H2D, D2H, D2D = 0, 1, 2, 3
NCHW, NHWC, ND = 0, 1, 2
CUBE, VECTOR = 0, 1

GEAR_INPUT = "ascend_mbatch_shape_data"

DATA_TYPES = {
    np.dtype(name): code
    for name, code in {
        "float32": 0,
        "float16": 1,
        "int8": 2,
        "int32": 3,
        "uint8": 4,
        "int16": 6,
        "uint16": 7,
        "uint32": 8,
        "int64": 9,
        "uint64": 10,
        "float64": 11,
        "bool": 12,
    }.items()
}

# Streams of one device, by the name of its chip.
STREAMS = (
    ("Ascend910B", 1984),
    ("Ascend910_93", 1984),
    ("Ascend950", 1984),
    ("Ascend310P", 1024),
    ("Ascend310B", 512),
    ("Ascend910", 2048),
)


def max_streams(soc: str) -> int:
    return next((count for name, count in STREAMS if soc.startswith(name)), 512)
