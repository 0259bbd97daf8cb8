from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from expecting import Expect

from ops import SpecError, TensorSpec
from ops.serial import op_from_json, op_to_json
from ops.top_k import TopK


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def names(*values: bytes) -> np.ndarray:
    return np.array(values, object)


def run(op: TopK, x: np.ndarray) -> list[list[object]]:
    return [output.tolist() for output in op.run(x)]


def test_the_best_come_first_with_their_labels(expect: Expect) -> None:
    op = TopK(k=2, labels=("cat", "狗", "bus", "page"))
    scores, indices, labels = expect(op, floats(0.1, 0.4, 0.3, 0.2))
    assert scores.tolist() == floats(0.4, 0.3).tolist()
    assert (indices.tolist(), indices.dtype) == ([1, 2], np.int32)
    assert labels.tolist() == ["狗".encode(), b"bus"]


def test_without_labels_they_are_empty(expect: Expect) -> None:
    assert expect(TopK(k=2), floats(1, 2))[2].tolist() == [b"", b""]


def test_of_equal_scores_the_lower_index_comes_first(expect: Expect) -> None:
    assert expect(TopK(k=3), floats(1, 7, 0, 7, 7, 7))[1].tolist() == [1, 3, 4]
    assert expect(TopK(k=2), np.zeros(1000, np.float32))[1].tolist() == [0, 1]
    assert expect(TopK(k=2), floats(-0.0, 0.0))[1].tolist() == [0, 1]


def test_k_may_be_all_classes(expect: Expect) -> None:
    assert expect(TopK(k=3), floats(1, 3, 2))[1].tolist() == [1, 2, 0]


def test_nan_ranks_below_every_number(expect: Expect) -> None:
    x = floats(np.nan, -np.inf, 5, np.nan, np.inf)
    assert [expect(TopK(k=k), x)[1].tolist() for k in (2, 4, 5)] == [[4, 2], [4, 2, 1, 0], [4, 2, 1, 0, 3]]


@pytest.mark.parametrize("k", [1, 5, 200])
def test_top_k_matches_onnx_runtime(k: int) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from onnx import parser

    text = (
        f"g (float[1000] x, int64[1] k) => (float[{k}] scores, int64[{k}] indices) {{ scores, indices = TopK(x, k) }}"
    )
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {text}')
    x = np.random.default_rng(k).integers(0, 100, 1000).astype(np.float32)  # many ties
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    want_scores, want_indices = session.run(None, {"x": x, "k": np.array([k])})
    scores, indices, _ = TopK(k).run(x)
    np.testing.assert_array_equal(scores, want_scores)
    np.testing.assert_array_equal(indices, want_indices)


def test_out_takes_any_subset() -> None:
    out = {"indices": np.empty(2, np.int32), "labels": np.empty(2, object)}
    scores, indices, labels = TopK(k=2, labels=("a", "b", "c")).run(floats(1, 2, 3), out=out)
    assert indices is out["indices"]
    assert labels is out["labels"]
    assert (scores.tolist(), indices.tolist(), labels.tolist()) == ([3, 2], [2, 1], [b"c", b"b"])


def test_labels_come_from_a_file_with_one_a_line(tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    file.write_bytes("person\r\ntraffic light\n公共汽车\n".encode())
    op = TopK(k=1, labels=str(file))
    op.infer(TensorSpec("float32", (3,)))
    assert run(op, floats(0, 0, 1))[2] == ["公共汽车".encode()]
    document = op_to_json(op, str(tmp_path))
    assert document["attributes"]["labels"] == {"asset": "labels.txt"}
    assert op_from_json(document, str(tmp_path)) == op


def test_a_missing_file_is_found_by_infer() -> None:
    op = TopK(k=1, labels="no_labels.txt")
    with pytest.raises(SpecError, match=r"there is no file .*no_labels.txt"):
        op.infer(TensorSpec("float32", (3,)))


def test_a_number_of_labels_that_is_not_that_of_classes_is_refused_with_both() -> None:
    with pytest.raises(SpecError, match="there are 3 classes but 1 label") as error:
        TopK(k=1, labels=("cat",)).infer(TensorSpec("float32", (3,)))
    assert "one label a class" in error.value.fix


def test_more_ranks_than_classes_are_refused_with_both() -> None:
    with pytest.raises(SpecError, match="k is 4, there are 3 classes") as error:
        TopK(k=4).infer(TensorSpec("float32", (3,)))
    assert "use 1 to 3" in error.value.fix


@pytest.mark.parametrize("k", [0, -1, 1.0])
def test_a_k_that_is_no_whole_number_above_0_is_refused(k: int) -> None:
    with pytest.raises(SpecError, match=f"k is {k}"):
        TopK(k=k).infer(TensorSpec("float32", (3,)))


def test_scores_of_unknown_number_or_other_rank_are_refused() -> None:
    with pytest.raises(SpecError, match="number of classes is not fixed"):
        TopK(k=1).infer(TensorSpec("float32", ("C",)))
    with pytest.raises(SpecError, match="rank is 2, wanted 1"):
        TopK(k=1).infer(TensorSpec("float32", (1, 1000)))
