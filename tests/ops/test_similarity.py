from __future__ import annotations

import expecting
import numpy as np
import pytest
from expecting import Expect

from ops import SpecError, TensorSpec
from ops.similarity import Similarity


def units(*shape: int) -> np.ndarray:
    x = np.random.default_rng(len(shape)).normal(0, 1, shape)
    return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)


def test_two_embeddings_have_one_score(expect: Expect) -> None:
    a, b = units(512), units(1, 512)[0]
    want = np.array([np.dot(a.astype(np.float64), b)], np.float32)
    expect(Similarity(), a, b, want=want, atol=1e-6, lower_atol=1e-6)


def test_an_embedding_against_many_has_one_score_each(expect: Expect) -> None:
    a, b = units(64), units(10, 64)
    expect(Similarity(), a, b, want=(b @ a.astype(np.float64)).astype(np.float32), atol=1e-6, lower_atol=1e-6)


def test_an_embedding_is_like_itself_and_unlike_its_opposite(expect: Expect) -> None:
    a = units(32)
    expect(Similarity(), a, np.stack([a, -a]), want=np.array([1, -1], np.float32), atol=1e-6, lower_atol=1e-6)


@pytest.mark.skipif(not expecting.HAS_ONNX, reason="needs onnxruntime")
@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("shape", [(5, 16), (16,)])
def test_a_constant_is_compared_with_every_sample_of_the_batch(opset: int, shape: tuple[int, ...]) -> None:
    import onnxruntime

    from ge_engine.builder import GraphBuilder

    batch, b = units(3, 16), units(*shape)
    spec = TensorSpec("float32", (16,))
    op, g = Similarity(), GraphBuilder(opset)
    value = op.lower(g, g.input("a", spec), g.same_for_all(b))
    g.output("score", value, op.infer(spec, TensorSpec("float32", shape)))
    session = onnxruntime.InferenceSession(g.model().SerializeToString(), providers=["CPUExecutionProvider"])
    (rows,) = session.run(None, {"a": batch})
    np.testing.assert_allclose(rows, [op.run(a, b) for a in batch], atol=1e-6)


def test_names_and_counts_pass_through() -> None:
    spec = Similarity().infer(TensorSpec("float32", ("D",)), TensorSpec("float32", ("N", 512)))
    assert str(spec) == "float32[N]"


def test_embeddings_of_two_lengths_are_refused_with_both() -> None:
    with pytest.raises(SpecError, match=r"b has 10 values an embedding but a \(float32\[512\]\) has 512") as error:
        Similarity().infer(TensorSpec("float32", (512,)), TensorSpec("float32", (512, 10)))
    assert "not [D,N]" in error.value.fix
    assert error.value.input == "b"


def test_many_embeddings_as_a_are_refused_with_the_other_order_as_remedy() -> None:
    with pytest.raises(SpecError, match=r"float32\[10,512\]: rank is 2, wanted 1") as error:
        Similarity().infer(TensorSpec("float32", (10, 512)), TensorSpec("float32", (512,)))
    assert "as b" in error.value.fix


def test_a_b_of_rank_3_and_other_dtypes_are_refused() -> None:
    a = TensorSpec("float32", (4,))
    with pytest.raises(SpecError, match="rank is 3, wanted 1 or 2"):
        Similarity().infer(a, TensorSpec("float32", (2, 3, 4)))
    with pytest.raises(SpecError, match="dtype is float16, wanted float32"):
        Similarity().infer(a, TensorSpec("float16", (4,)))
