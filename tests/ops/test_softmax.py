from __future__ import annotations

import numpy as np
import pytest
from expecting import Expect

from ops import SpecError, TensorSpec
from ops.softmax import Softmax


def formula(x: np.ndarray, axis: int) -> np.ndarray:
    """scipy.special.softmax's formula, in float64."""
    shifted = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return (shifted / shifted.sum(axis, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2, -3])
def test_softmax_matches_the_float64_formula_along_each_axis(expect: Expect, axis: int) -> None:
    x = np.random.default_rng(0).normal(0, 5, (4, 5, 6)).astype(np.float32)
    expect(Softmax(axis), x, want=formula(x, axis), rtol=1e-6, atol=1e-12, lower_atol=1e-6)


@pytest.mark.parametrize("scores", [[100, 0], [1e4, 0], [3e38, -3e38], [-1e4, -2e4], [0, -np.inf]])
def test_scores_of_any_size_do_not_overflow(expect: Expect, scores: list[float]) -> None:
    expect(Softmax(), np.array(scores, np.float32), want=np.array([1, 0], np.float32), atol=1e-37, lower_atol=1e-37)


def test_a_thousand_equal_scores_share_alike(expect: Expect) -> None:
    x = np.full(1000, 88, np.float32)
    expect(Softmax(), x, want=np.full(1000, 0.001, np.float32), rtol=1e-6, lower_atol=1e-8)


@pytest.mark.parametrize("scores", [[np.nan, 1], [-np.inf, -np.inf], [np.inf, 1]])
def test_what_has_no_softmax_is_nan_on_host_and_device_without_a_warning(expect: Expect, scores: list[float]) -> None:
    expect(Softmax(), np.array(scores, np.float32), want=np.full(2, np.nan, np.float32))


def test_no_scores_make_no_probabilities() -> None:
    assert Softmax().run(np.empty((3, 0), np.float32)).shape == (3, 0)


def test_softmax_matches_the_onnx_reference() -> None:
    reference = pytest.importorskip("onnx.reference")
    parser = pytest.importorskip("onnx.parser")
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 13]> g (float[3,7] x) => (float[3,7] y) { y = Softmax<axis=0>(x) }'
    )
    x = np.random.default_rng(1).normal(0, 9, (3, 7)).astype(np.float32)
    (want,) = reference.ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(Softmax(axis=0).run(x), want, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_that_the_sample_does_not_have_is_refused(axis: int) -> None:
    with pytest.raises(SpecError, match=rf"float32\[3,4\]: axis is {axis}, rank is 2") as error:
        Softmax(axis).infer(TensorSpec("float32", (3, 4)))
    assert "use -2 to 1" in error.value.fix


def test_integers_are_refused_with_a_cast_as_remedy() -> None:
    with pytest.raises(SpecError, match="dtype is int32, wanted float32") as error:
        Softmax().infer(TensorSpec("int32", (3,)))
    assert "Cast" in error.value.fix
