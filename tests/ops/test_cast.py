from __future__ import annotations

import numpy as np
import pytest
from expecting import Expect

from ops import SpecError, TensorSpec
from ops.cast import Cast

INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "float32", "float64")


def some(dtype: str) -> np.ndarray:
    """Small numbers, and the ends of the dtype."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 100, 127, info.max // 3, info.max - 1, info.max, info.min, info.min // 3], dtype)
    return np.array([0, -0.0, 0.1, 0.5, 1.5, 1.9999, -0.7, 100.49, 1e-7, 2049.5, 65504], dtype)


@pytest.mark.parametrize("source", [*INTEGERS, "bool"])
@pytest.mark.parametrize("target", ["uint8", "int32", "int64", "float16", "float32", "bool"])
def test_integers_and_bool_become_what_numpy_makes_of_them_on_host_and_device(
    expect: Expect, source: str, target: str
) -> None:
    x = some(source)
    with np.errstate(over="ignore"):
        want = x.astype(target)
    expect(Cast(target), x, want=want)


@pytest.mark.parametrize(
    ("source", "target"),
    [(s, t) for s in FLOATS for t in (*FLOATS, "bool") if (s, t) != ("float64", "float16")],
)
def test_floats_become_what_numpy_makes_of_them_on_host_and_device(expect: Expect, source: str, target: str) -> None:
    x = np.concatenate([some(source), np.array([np.inf, -np.inf, np.nan, 65519, 65520, -7e4], np.float64)])
    with np.errstate(over="ignore"):
        x = x.astype(source)
        want = x.astype(target)
    expect(Cast(target), x, want=want)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_floats_become_integers_cut_and_saturated_on_host_and_device(expect: Expect, source: str, target: str) -> None:
    info = np.iinfo(target)
    x = np.array([-0.7, 0.5, 1.9999, 100.49, 127, 65504, -3, -40000, np.nan, np.inf, -np.inf, 3e4], source)
    got = expect(Cast(target), x)
    for value, integer in zip(x.tolist(), got.tolist()):
        if np.isnan(value):
            assert integer == 0
        elif info.min <= value <= info.max:
            assert integer == int(value)
        else:  # the last float within the range: no other float lies between
            end = info.max if value > 0 else info.min
            step = np.spacing(np.asarray(end, np.float64 if source == "float64" else np.float32))
            assert 0 <= abs(end - integer) < max(1, step)


def test_every_float16_survives_the_way_through_float32(expect: Expect) -> None:
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    expect(Cast("float16"), x.astype(np.float32), want=x)


def test_float32_to_float16_rounds_to_even(expect: Expect) -> None:
    x = np.array([2049, 2051, 1 + 2**-11, 1 + 3 * 2**-11, 2**-25, 1.5 * 2**-24], np.float32)
    want = np.array([2048, 2052, 1, 1 + 2**-9, 0, 2**-23], np.float16)
    expect(Cast("float16"), x, want=want)


def test_any_spelling_of_a_dtype_and_any_shape_will_do() -> None:
    assert str(Cast("TYPE_FP32").infer(TensorSpec("uint8", ("H", "W", 3)))) == "float32[H,W,3]"
    assert Cast("tensor(int32)").run(np.array([[5]], np.int64)).dtype == np.int32


def test_bytes_and_bfloat16_are_refused_with_both_dtypes() -> None:
    with pytest.raises(SpecError, match="bytes: bytes cannot be cast to float32"):
        Cast("float32").infer(TensorSpec("bytes", ()))
    with pytest.raises(SpecError, match="float32 cannot be cast to bfloat16") as error:
        Cast("bfloat16").infer(TensorSpec("float32", (1,)))
    assert "float16" in error.value.fix


def test_float64_to_float16_is_refused_for_its_two_roundings() -> None:
    with pytest.raises(SpecError, match="rounded once or twice") as error:
        Cast("float16").infer(TensorSpec("float64", (1,)))
    assert 'Cast("float32")' in error.value.fix


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(SpecError, match="'flaot32' is not a dtype"):
        Cast("flaot32").infer(TensorSpec("uint8", (1,)))
