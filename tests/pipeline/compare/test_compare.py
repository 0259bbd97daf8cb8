from __future__ import annotations

from pathlib import Path

import half_models
import numpy as np
import onnx
import onnxruntime
import pytest
import tiny
from onnx_files import node, save, tensor
from weights import ROOT, laid_out

from ops import WrongUse
from pipeline.compare import Comparison, Limits, compare
from pipeline.compare.compare import MADE_UP

PIPELINE = """\
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("small")
x = pipeline.input("x", ops.TensorSpec("float32", (8,)))
pipeline.output(y=Model("{name}.onnx")(x))
"""


REFUSES = """
class Refuses(ops.Op):
    def infer(self, x):
        return x

    def run(self, x, out=None):
        raise ValueError("too small")

"""
SIZED = """\
import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("sized")
image = pipeline.input("image", ops.TensorSpec("uint8", ("H", "W", 3)))
square, transform = ops.Letterbox(sizes=((32, 32), (32, 16)))(image)
pipeline.output(y=Model("picture.onnx")(ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(square)))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two samples for a bare model."""
    folder = tmp_path / "samples"
    folder.mkdir()
    for number, part in enumerate(np.split(half_models.rows(), 2)):
        np.savez(folder / f"{number}.npz", x=part)
    return folder


def compared(target: Path, data: Path | None, other: str | Path = "fp16") -> Comparison:
    return compare(str(target), str(other), data=data)


def test_the_layer_that_overflows_is_the_first_that_departs(tmp_path: Path, data: Path) -> None:
    found = compared(half_models.overflowing(tmp_path / "m.onnx"), data)
    first = found.first_departing
    assert first is not None
    assert (first.node, first.tensor, found.samples) == ("boost", "boosted", 2)
    assert first.measure is not None
    weights = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    beyond = np.abs(half_models.rows() @ weights) * half_models.BOOST > 65504
    assert (first.measure.overflow, first.measure.broken) == (beyond.sum(), beyond.sum())
    assert not found.agrees


def test_what_has_to_stay_in_fp32_is_found_and_no_more(tmp_path: Path, data: Path) -> None:
    found = compared(half_models.overflowing(tmp_path / "m.onnx"), data)
    kept = found.kept["m"]
    assert kept.enough
    assert set(kept.nodes) == {"boost", "calm"}
    assert kept.files["keep_dtype.cfg"] == "boost\ncalm\n"


def test_a_model_that_fp16_does_not_harm_keeps_nothing(tmp_path: Path, data: Path) -> None:
    found = compared(half_models.harmless(tmp_path / "m.onnx"), data)
    assert (found.agrees, found.first_departing, found.kept) == (True, None, {})
    (output,) = found.outputs
    assert output.measure is not None
    assert 0 < output.measure.max_abs < 2**-7  # a few roundings of values up to 1
    assert output.agreement is not None
    assert output.agreement[1] == 1.0


def test_cube_fp16in_fp32out_harms_less(tmp_path: Path, data: Path) -> None:
    model = half_models.overflowing(tmp_path / "m.onnx")
    assert compared(model, data, "cube_fp16in_fp32out").agrees


def test_random_numbers_are_owned_up_to(tmp_path: Path) -> None:
    found = compared(half_models.harmless(tmp_path / "m.onnx"), None)
    assert (found.notes, found.samples) == ((MADE_UP,), 8)


def test_made_up_samples_are_as_many_of_a_pipeline_and_pictures_where_it_decodes_them(project: Path) -> None:
    tiny.picture_model(project)
    encoded = 'image = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))'
    declared = 'image = pipeline.input("image", ops.TensorSpec("uint8", ("H", "W", 3)))'
    (project / "graph.py").write_text(SIZED.replace(declared, encoded), encoding="utf-8")
    found = compared(project / "graph.py", None)
    assert (found.notes, found.samples, found.agrees) == ((MADE_UP,), 8, True)


def test_two_models_are_compared_by_name_and_their_outputs_by_place(tmp_path: Path, data: Path) -> None:
    one, same = half_models.harmless(tmp_path / "one.onnx"), half_models.harmless(tmp_path / "same.onnx", output="z")
    found = compared(one, data, same)
    assert [(layer.tensor, layer.measure.max_abs) for layer in found.layers if layer.measure] == [
        ("mixed", 0),
        ("y", 0),
    ]
    other = compared(one, data, half_models.harmless(tmp_path / "other.onnx", seed=5))
    assert other.first_departing is not None
    assert other.first_departing.tensor == "mixed"


def test_layers_that_only_one_model_has_are_named(tmp_path: Path, data: Path) -> None:
    one = half_models.overflowing(tmp_path / "one.onnx")
    found = compared(one, data, half_models.harmless(tmp_path / "other.onnx"))
    absent = {layer.tensor: layer.fault for layer in found.layers if layer.fault}
    assert absent == dict.fromkeys(("boosted", "calmed", "shifted"), f"not in {tmp_path / 'other.onnx'}")


def test_the_tensors_that_a_device_dumped_are_compared_with_the_cpus(tmp_path: Path, data: Path) -> None:
    model = half_models.harmless(tmp_path / "m.onnx")
    dump = tmp_path / "dump"
    dump.mkdir()
    x = half_models.rows()[:2]
    (y,) = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    np.save(dump / "Tanh.squash.5.2.1682067845380164.output.0.npy", y.astype(np.float16))
    np.save(dump / "BatchMatMulV2.mix.4.2.1682067845380164.output.0.npy", np.full((2, 16), 7, np.float16))
    np.save(dump / "TransData.added_by_ge.3.2.1682067845380164.output.0.npy", y)
    found = compared(model, data / "0.npz", dump)
    assert [(layer.tensor, bool(layer.departs(Limits()))) for layer in found.layers] == [("mixed", True), ("y", False)]
    assert found.layers[1].dtypes == ("float32", "float16")
    assert "1 files belong to no tensor" in found.notes[0]


def test_a_pipeline_is_compared_in_its_stages_and_in_its_answers(project: Path, tmp_path: Path) -> None:
    half_models.overflowing(project / "m.onnx")
    (project / "graph.py").write_text(PIPELINE.format(name="m"), encoding="utf-8")
    samples = project / "samples"
    samples.mkdir()
    for number, row in enumerate(half_models.rows()):
        np.savez(samples / f"{number}.npz", x=row)
    found = compared(project / "graph.py", samples)
    assert found.samples == 4
    assert found.first_departing is not None
    assert found.first_departing.node == "m/boost"
    (answer,) = found.answers
    assert answer.measure is not None
    assert answer.measure.count == 64
    assert answer.departs(Limits())
    assert set(found.kept["m"].nodes) == {"m/boost", "m/calm"}


@pytest.mark.weights
def test_yolo11n_keeps_its_boxes_in_fp16(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    bus = laid_out("examples/yolo11/weights/bus.jpg")
    (pictures / "bus.jpg").write_bytes(bus.read_bytes())
    found = compare(str(ROOT / "examples/yolo11/graph.py"), data=pictures)
    assert found.agrees
    assert found.first_departing is None
    boxes, scores, classes = (layer.measure for layer in found.answers)
    assert boxes is not None
    assert scores is not None
    assert classes is not None
    assert boxes.count == 20  # five detections
    assert boxes.max_abs < 1.0  # pixels of a picture of 810 x 1080
    assert scores.max_abs < 0.002
    assert classes.max_abs == 0


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("mixed_float16", "precision mixed_float16 is not emulated"),
        ("fp61", "there is nothing called fp61 to compare with"),
    ],
)
def test_what_nothing_can_be_compared_with_is_refused(tmp_path: Path, data: Path, other: str, message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        compared(half_models.harmless(tmp_path / "m.onnx"), data, other)


def test_a_model_that_takes_or_gives_something_else_is_refused(tmp_path: Path, data: Path) -> None:
    nodes = [node("Add", ["x", "z"], ["y"], name="n")]
    ports = [tensor("x", ["batch", 8]), tensor("z", ["batch", 8])]
    other = save(tmp_path / "two.onnx", nodes, ports, [tensor("y", ["batch", 8])])
    with pytest.raises(WrongUse, match=r"two\.onnx has the inputs x, z; the other model has x"):
        compared(half_models.harmless(tmp_path / "m.onnx"), data, other)


def test_a_dump_is_of_one_sample(tmp_path: Path, data: Path) -> None:
    np.save(tmp_path / "y.npy", np.zeros(3))
    (tmp_path / "dump").mkdir()
    with pytest.raises(WrongUse, match="holds the tensors of one run, there are 2 samples"):
        compared(half_models.harmless(tmp_path / "m.onnx"), data, tmp_path / "dump")


def test_a_sample_that_fails_in_the_pipeline_is_named(project: Path) -> None:
    half_models.harmless(project / "m.onnx")
    (project / "graph.py").write_text(PIPELINE.format(name="m"), encoding="utf-8")
    np.savez(project / "bad.npz", x=np.zeros(9, np.float32))
    with pytest.raises(WrongUse, match="sample 0 fails: "):
        compared(project / "graph.py", project / "bad.npz")


def test_made_up_samples_that_fail_ask_for_real_ones(project: Path) -> None:
    half_models.harmless(project / "m.onnx")
    text = PIPELINE.format(name="m").replace('Model("m.onnx")(x)', 'Refuses()(Model("m.onnx")(x))')
    (project / "graph.py").write_text(text.replace("pipeline = ", REFUSES + "pipeline = ", 1), encoding="utf-8")
    with pytest.raises(WrongUse, match=r"sample 0, made up of random data, fails: .*too small") as error:
        compared(project / "graph.py", None)
    assert error.value.fix == "give samples: --data DIR"


def test_a_pipeline_whose_inputs_are_of_any_size_needs_samples(project: Path) -> None:
    text = PIPELINE.format(name="m").replace("(8,)", '("H", "W", 3)').replace("float32", "uint8")
    lines = text.replace('Model("m.onnx")(x)', "ops.Resize(height=8, width=8)(x)")
    (project / "graph.py").write_text(lines, encoding="utf-8")
    with pytest.raises(WrongUse, match="its size is open") as error:
        compared(project / "graph.py", None)
    assert error.value.fix == "give samples: --data DIR"


def test_a_pipeline_without_a_model_has_nothing_to_compare(project: Path) -> None:
    text = PIPELINE.format(name="m").replace('Model("m.onnx")(x)', "ops.Softmax()(x)")
    (project / "graph.py").write_text(text, encoding="utf-8")
    with pytest.raises(WrongUse, match="has no model"):
        compared(project / "graph.py", None)


def test_size_gears_are_compared_each_by_itself(project: Path) -> None:
    tiny.picture_model(project)
    (project / "graph.py").write_text(SIZED, encoding="utf-8")
    samples = project / "samples"
    samples.mkdir()
    for number, (height, width) in enumerate(((60, 60), (50, 20), (64, 66))):
        image = np.random.default_rng(number).integers(0, 255, (height, width, 3)).astype(np.uint8)
        np.savez(samples / f"{number}.npz", image=image)
    found = compared(project / "graph.py", samples)
    assert found.agrees
    assert sorted(layer.shape for layer in found.layers if layer.op_type == "Conv") == [(1, 4, 32, 16), (1, 4, 32, 32)]


def test_a_model_of_another_kind_is_refused(data: Path) -> None:
    with pytest.raises(WrongUse, match=r"m\.pb is no ONNX file"):
        compared(Path("m.pb"), data)


def test_nodes_without_a_name_are_told_apart(tmp_path: Path, data: Path) -> None:
    model = onnx.load(half_models.overflowing(tmp_path / "m.onnx"))
    for unnamed in model.graph.node:
        unnamed.name = ""
    onnx.save(model, tmp_path / "m.onnx")
    assert set(compared(tmp_path / "m.onnx", data).kept["m"].nodes) == {"Mul:boosted", "Div:calmed"}
