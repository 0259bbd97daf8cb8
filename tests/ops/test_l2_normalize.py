from __future__ import annotations

import expecting
import numpy as np
import pytest
from expecting import Expect

from ops import SpecError, TensorSpec
from ops.l2_normalize import L2Normalize


def formula(x: np.ndarray, axis: int, eps: float = 1e-12) -> np.ndarray:
    """torch.nn.functional.normalize's formula, in float64."""
    wide = x.astype(np.float64)
    return (wide / np.maximum(np.sqrt((wide**2).sum(axis, keepdims=True)), eps)).astype(np.float32)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, -2])
def test_l2_normalize_matches_the_float64_formula_along_each_axis(expect: Expect, axis: int) -> None:
    x = np.random.default_rng(0).normal(0, 3, (4, 5, 6)).astype(np.float32)
    expect(L2Normalize(axis), x, want=formula(x, axis), rtol=1e-6, lower_atol=1e-6)


@pytest.mark.parametrize("scale", [1e-18, 1e-9, 1, 1e9, 1e18])
def test_vectors_of_any_common_length_become_units(expect: Expect, scale: float) -> None:
    x = (np.array([3, -4], np.float32) * np.float32(scale)).astype(np.float32)
    want = np.array([0.6, -0.8] if scale > 1e-12 else np.array([3, -4]) * scale / 1e-12, np.float32)
    expect(L2Normalize(), x, want=want, rtol=1e-6, lower_atol=1e-6)


def test_a_zero_vector_stays_zero(expect: Expect) -> None:
    expect(L2Normalize(), np.zeros(8, np.float32), want=np.zeros(8, np.float32))


def test_eps_is_the_least_length_that_is_divided_by(expect: Expect) -> None:
    x = np.array([0.3, 0.4], np.float32)
    expect(L2Normalize(eps=2), x, want=np.array([0.15, 0.2], np.float32), rtol=1e-6, lower_atol=1e-6)


def test_a_nan_stays_a_nan_on_host_and_device(expect: Expect) -> None:
    x = np.array([[np.nan, 1], [3, 4]], np.float32)
    want = np.array([[np.nan, np.nan], [0.6, 0.8]], np.float32)
    expect(L2Normalize(), x, want=want, rtol=1e-6, lower_atol=1e-6)


def test_lengths_out_of_reach_do_not_warn() -> None:
    assert L2Normalize().run(np.array([1e30, 1], np.float32)).tolist() == [0, 0]
    assert np.isnan(L2Normalize().run(np.array([np.inf, 1], np.float32))[0])


@pytest.mark.skipif(not expecting.HAS_ONNX, reason="needs onnxruntime")
@pytest.mark.parametrize("opset", range(13, 19))
def test_lower_is_right_at_every_opset(opset: int) -> None:
    x = np.random.default_rng(2).normal(0, 1, (3, 8)).astype(np.float32)
    op, spec = L2Normalize(), TensorSpec("float32", (3, 8))
    (rows,) = expecting.run_lowered(op, [spec], (spec,), (x,), opset, 2)
    np.testing.assert_allclose(rows, np.stack([op.run(x)] * 2), rtol=1e-6)


@pytest.mark.parametrize("eps", [0, -1, float("nan"), 1e-60])
def test_an_eps_that_cannot_be_divided_by_is_refused(eps: float) -> None:
    with pytest.raises(SpecError, match=f"eps is {eps}, wanted a float32 above 0"):
        L2Normalize(eps=eps).infer(TensorSpec("float32", (3,)))


def test_an_axis_that_the_sample_does_not_have_is_refused() -> None:
    with pytest.raises(SpecError, match=r"float32\[512\]: axis is 1, rank is 1"):
        L2Normalize(axis=1).infer(TensorSpec("float32", (512,)))
