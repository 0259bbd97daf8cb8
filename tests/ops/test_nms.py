from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from expecting import Expect

from ops import Counted, SpecError, TensorSpec
from ops.nms import NMS


def reference(
    boxes: np.ndarray, scores: np.ndarray, classes: np.ndarray, threshold: float, agnostic: bool
) -> list[int]:
    """torchvision.ops.nms by its definition, one class at a time (or all as one), in float64."""
    kept: list[int] = []
    rows = boxes.astype(np.float64).tolist()
    for i in sorted(range(len(rows)), key=lambda i: -scores[i]):  # sorted is stable
        ax1, ay1, ax2, ay2 = rows[i]
        for j in kept:
            bx1, by1, bx2, by2 = rows[j]
            overlap = max(0.0, min(ax2, bx2) - max(ax1, bx1)) * max(0.0, min(ay2, by2) - max(ay1, by1))
            union = (ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - overlap
            if (agnostic or classes[i] == classes[j]) and union and overlap / union > threshold:
                break
        else:
            kept.append(i)
    return kept


def crowd(n: int, seed: int, scale: float = 640, classes: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boxes of every overlap; scores in steps of 1/50, so that many are equal."""
    rng = np.random.default_rng(seed)
    corner, size = rng.uniform(0, 0.8, (n, 2)), rng.uniform(0.02, 0.4, (n, 2))
    boxes = (np.concatenate([corner, corner + size], axis=1) * scale).astype(np.float32)
    return boxes, (rng.integers(1, 50, n) / 50).astype(np.float32), rng.integers(0, classes, n).astype(np.int32)


def made(
    boxes: list[list[float]], scores: list[float], classes: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array(boxes, np.float32).reshape(-1, 4), np.array(scores, np.float32), np.array(classes, np.int32)


@pytest.mark.parametrize("agnostic", [False, True])
@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (90, 2), (91, 3), (300, 4), (700, 5)])
def test_nms_keeps_what_the_definition_keeps(expect: Expect, n: int, seed: int, agnostic: bool) -> None:
    boxes, scores, classes = crowd(n, seed)
    kept = reference(boxes, scores, classes, 0.45, agnostic)
    want = (boxes[kept], scores[kept], classes[kept])
    expect(NMS(max_detections=n, class_agnostic=agnostic), boxes, scores, classes, want=want)


def test_coordinates_of_ten_million_with_80_classes_are_as_exact_as_any(expect: Expect) -> None:
    boxes, scores, classes = crowd(400, 6, scale=1e7, classes=80)
    boxes, scores, classes = (np.concatenate([x, x]) for x in (boxes, scores, classes))
    classes[400:] = 79 - classes[400:]
    boxes[400:, 2:] += 1
    kept = reference(boxes, scores, classes, 0.45, False)
    want = (boxes[kept], scores[kept], classes[kept])
    expect(NMS(max_detections=800), boxes, scores, classes, want=want)


@pytest.mark.parametrize("threshold", [0.2, 0.437, 0.9])
def test_nms_keeps_what_onnx_keeps(threshold: float) -> None:
    """ONNX: corners in any order, one limit a class; the same for true boxes and no limit."""
    onnxruntime = pytest.importorskip("onnxruntime")
    from onnx import parser

    boxes, scores, classes = crowd(200, 7)
    boxes = np.round(boxes)  # so that float32 overlaps are exact enough
    by_class = np.full((3, 200), -1, np.float32)
    by_class[classes, np.arange(200)] = scores
    types = "float[1,200,4] boxes, float[1,3,200] scores, int64[1] limit, float[1] iou, float[1] least"
    call = "kept = NonMaxSuppression(boxes, scores, limit, iou, least)"
    text = f'<ir_version: 8, opset_import: ["": 13]> g ({types}) => (int64[n,3] kept) {{ {call} }}'
    session = onnxruntime.InferenceSession(
        parser.parse_model(text).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    feeds = {
        "boxes": boxes[None],
        "scores": by_class[None],
        "limit": np.array([200]),
        "iou": np.array([threshold], np.float32),
        "least": np.zeros(1, np.float32),
    }
    kept = np.sort(session.run(None, feeds)[0][:, 2])
    kept = kept[np.argsort(-scores[kept], kind="stable")]
    got = NMS(iou_threshold=threshold, max_detections=200).run(boxes, scores, classes)
    np.testing.assert_array_equal(got[0], boxes[kept])
    np.testing.assert_array_equal(got[1], scores[kept])


def test_two_identical_boxes_are_one_but_of_two_classes_two(expect: Expect) -> None:
    box = [1, 1, 5, 5]
    assert expect(NMS(), *made([box, box], [0.5, 0.5], [0, 0]))[1].tolist() == [0.5]
    assert expect(NMS(), *made([box, box], [0.5, 0.5], [4, 2]))[2].tolist() == [4, 2]
    assert expect(NMS(class_agnostic=True), *made([box, box], [0.5, 0.5], [4, 2]))[2].tolist() == [4]


def test_an_overlap_of_just_the_threshold_is_kept() -> None:
    boxes, scores, classes = made([[0, 0, 4, 1], [0, 0, 2, 1]], [0.9, 0.8], [0, 0])  # overlap over union is 1/2
    assert len(NMS(iou_threshold=0.5).run(boxes, scores, classes)[1]) == 2
    assert len(NMS(iou_threshold=0.49).run(boxes, scores, classes)[1]) == 1


def test_a_suppressed_box_suppresses_nothing() -> None:
    boxes, scores, classes = made([[0, 0, 4, 1], [1, 0, 5, 1], [2, 0, 6, 1]], [0.9, 0.8, 0.7], [0, 0, 0])
    assert NMS(iou_threshold=0.45).run(boxes, scores, classes)[0][:, 0].tolist() == [0, 2]


def test_no_boxes_make_no_detections(expect: Expect) -> None:
    boxes, scores, classes = NMS().run(*made([], [], []))
    assert (boxes.shape, boxes.dtype, scores.shape, scores.dtype, classes.shape, classes.dtype) == (
        ((0, 4), np.float32, (0,), np.float32, (0,), np.int32)
    )
    expect(NMS(score_threshold=0.9), *made([[0, 0, 1, 1]], [0.5], [0]), want=(boxes, scores, classes))


def test_a_score_of_just_the_threshold_is_dropped_and_the_best_come_first(expect: Expect) -> None:
    boxes, scores, classes = crowd(50, 8)
    got = expect(NMS(score_threshold=0.5, max_detections=5), boxes, scores, classes)[1]
    assert got.size == 5
    assert (np.diff(got) <= 0).all()
    assert expect(NMS(score_threshold=float(scores.max())), boxes, scores, classes)[1].size == 0


def test_more_than_max_detections_are_cut_after_the_best() -> None:
    row = np.arange(129)
    boxes = np.stack([row * 10, row * 0, row * 10 + 5, row * 0 + 5], axis=1).astype(np.float32)
    scores = np.linspace(0.1, 0.9, 129, dtype=np.float32)
    got = NMS(max_detections=128).run(boxes, scores, np.zeros(129, np.int32))
    np.testing.assert_array_equal(got[0], boxes[:0:-1])


def test_boxes_without_area_neither_suppress_nor_are_suppressed_nor_warn(expect: Expect) -> None:
    boxes, scores, classes = made(
        [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 9], [0, 0, 9, 9]], [0.9, 0.8, 0.7, 0.6], [0] * 4
    )
    expect(NMS(), boxes, scores, classes, want=(boxes, scores, classes))


def test_a_nan_drops_its_row_and_infinities_do_not_warn() -> None:
    nan, inf = float("nan"), float("inf")
    boxes, scores, classes = made(
        [[0, 0, 1, 1], [nan, 0, 1, 1], [0, 0, 1, 1], [-inf, 0, inf, 1], [3e38, 0, inf, 1], [9, 9, 11, 11]],
        [nan, 0.9, 0.8, 0.7, 0.6, inf],
        [0, 0, 0, 0, 1, 0],
    )
    assert NMS().run(boxes, scores, classes)[1].tolist() == scores[[5, 2, 3, 4]].tolist()


@pytest.mark.parametrize("apart", [True, False])
def test_8400_boxes_take_less_than_a_second_and_no_square_of_memory(apart: bool) -> None:
    row = np.arange(8400)
    step = 10 if apart else 0
    boxes = np.stack([row * step, row * 0, row * step + 5, row * 0 + 5], axis=1).astype(np.float32)
    inputs = boxes, np.random.default_rng(9).random(8400).astype(np.float32), np.zeros(8400, np.int32)
    start = time.perf_counter()
    got = NMS().run(*inputs)
    assert time.perf_counter() - start < 1
    assert len(got[1]) == (300 if apart else 1)
    tracemalloc.start()
    NMS().run(*inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6


def test_of_a_flood_the_best_30000_count() -> None:
    row = np.arange(30_010)
    boxes = np.zeros((30_010, 4), np.float32)
    boxes[:, 2:] = 1
    boxes[row >= 30_000] += 50  # the ten worst, and the only ones elsewhere
    scores = np.linspace(1, 0.5, 30_010, dtype=np.float32)
    assert len(NMS().run(boxes, scores, np.zeros(30_010, np.int32))[1]) == 1


def test_the_outputs_are_counted_and_the_inputs_may_be() -> None:
    rows = Counted("boxes", 1000)
    specs = NMS(max_detections=7).infer(
        TensorSpec("float32", (rows, 4)), TensorSpec("float32", (rows,)), TensorSpec("int32", (rows,))
    )
    assert [str(spec) for spec in specs] == [
        "float32[detections<=7,4]",
        "float32[detections<=7]",
        "int32[detections<=7]",
    ]


def specs(boxes: object = 9, values: object = 4, scores: object = 9, classes: object = 9) -> list[TensorSpec]:
    return [
        TensorSpec("float32", (boxes, values)),  # type: ignore[arg-type]
        TensorSpec("float32", (scores,)),  # type: ignore[arg-type]
        TensorSpec("int32", (classes,)),  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("given", "message", "input"),
    [
        ({"values": 5}, r"float32\[9,5\]: a box has 5 values, wanted 4", "boxes"),
        ({"scores": 8}, r"float32\[8\]: there are 8 scores but 9 boxes", "scores"),
        ({"classes": 8}, r"int32\[8\]: there are 8 classes but 9 boxes", "classes"),
        ({"scores": Counted("detections", 9)}, "there are detections<=9 scores but 9 boxes", "scores"),
    ],
)
def test_inputs_that_do_not_fit_together_are_refused_with_both(
    given: dict[str, object], message: str, input: str
) -> None:
    with pytest.raises(SpecError, match=message) as error:
        NMS().infer(*specs(**given))
    assert error.value.input == input
    assert error.value.fix


def test_inputs_of_a_named_length_are_taken() -> None:
    assert len(NMS().infer(*specs("n", 4, "n", "n"))) == 3


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (NMS(iou_threshold=1.5), "iou_threshold is 1.5, wanted 0 to 1"),
        (NMS(iou_threshold=float("nan")), "iou_threshold is nan"),
        (NMS(score_threshold=float("nan")), "score_threshold is nan"),
        (NMS(max_detections=0), "max_detections is 0"),
    ],
)
def test_attributes_out_of_range_are_refused(op: NMS, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        op.infer(*specs())
