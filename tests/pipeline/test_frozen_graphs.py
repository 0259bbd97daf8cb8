"""A frozen TensorFlow graph as a model of a pipeline: declared, run, exported and linted as an ONNX file is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from frozen_graphs import constant, dense_answer, dense_graph, sized_graph
from offline import read_config
from tiny import vector_model
from weights import packaged

from ge_engine import Model, openvino_runtime
from ge_engine.gears import Gear
from ge_engine.openvino_runtime import OpenVinoGraph
from ops import Array, Cast, Edge, ExportError, L2Normalize, Letterbox, Softmax, TensorSpec, ValidationError
from pipeline import Pipeline
from pipeline.triton.lint import lint
from pipeline.triton.releases import TARGETS
from pipeline.tune.memory import Memory

pytest.importorskip("openvino")
VECTOR = TensorSpec("float32", (8,))
X = np.random.default_rng(0).normal(size=(9, 8)).astype(np.float32)
NMP = Path(__file__).parents[1] / "data" / "nmp_frozen.pb"
SAVED_MODELS = "basic_pitch/saved_models/icassp_2022"


def declared(path: Path, behind: Callable[[Edge], Edge] | None = None) -> Pipeline:
    """x float32[8] -> Cast -> the graph -> y."""
    pipeline = Pipeline("dense")
    y = Model(str(path))(Cast("float32")(pipeline.input("x", VECTOR)))
    pipeline.output(y=behind(y) if behind else y)
    return pipeline


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


def test_it_answers_any_number_of_samples_and_its_neighbours_stay_on_the_host(tmp_path: Path) -> None:
    plan = declared(dense_graph(tmp_path / "m.pb"), Softmax()).compile(gears=(1, 2, 4))
    assert [(stage.name, [step.name for step in stage.steps]) for stage in plan.stages] == [
        ("host0", ["cast"]),
        ("m", ["m"]),
        ("host2", ["softmax"]),
    ]
    with plan.session() as session:
        answers = session.run_batch([{"x": row} for row in X])
        futures = [session.submit(x=row) for row in X]
        for row, answer, future in zip(X, answers, futures):
            assert isinstance(answer, dict)
            np.testing.assert_allclose(answer["y"], softmax(dense_answer(row)), atol=1e-6)
            np.testing.assert_allclose(future.result()["y"], answer["y"], atol=1e-6)


def test_a_second_plan_takes_it_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    said: list[str] = []
    path = dense_graph(tmp_path / "m.pb")
    for _ in range(2):
        declared(path).compile(gears=(1, 2), progress=lambda what, done, total: said.append(what))
    assert said[-1] == "m: from the cache"
    dense_graph(path, extra=[constant("unused", np.float32([1, 2]))])
    declared(path).compile(gears=(1, 2), progress=lambda what, done, total: said.append(what))
    assert said[-1] == "m: gear 2"


def test_an_op_between_it_and_an_onnx_model_is_fused_into_the_onnx_alone(tmp_path: Path) -> None:
    pipeline = Pipeline("both")
    y = Model(str(dense_graph(tmp_path / "m.pb")))(pipeline.input("x", VECTOR))
    pipeline.output(z=Model(str(vector_model(tmp_path, size=4)))(L2Normalize()(y)))
    plan = pipeline.compile(gears=(1, 2))
    assert [(stage.name, [step.name for step in stage.steps]) for stage in plan.stages] == [
        ("m", ["m"]),
        ("dense", ["l2_normalize", "dense"]),
    ]


def test_sizes_follow_the_letterbox(tmp_path: Path) -> None:
    pipeline = Pipeline("sized")
    image, transform = Letterbox(sizes=((32, 32), (32, 16)))(
        pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    )
    pipeline.output(mean=Model(str(sized_graph(tmp_path / "m.pb")), outputs=("mean",))(image), transform=transform)
    with pipeline.compile().session() as session:
        for height, width in ((64, 64), (64, 32)):
            answer = session.run(image=np.full((height, width, 3), 9, np.uint8))
            np.testing.assert_allclose(answer["mean"], [9, 9, 9], atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("gears", [(1,), (3,), (1, 2, 4)])
def test_an_export_is_free_of_findings(tmp_path: Path, target: str, gears: tuple[int, ...]) -> None:
    pipeline = Pipeline("dense")
    y = Model(str(dense_graph(tmp_path / "m.pb")))(Cast("float32")(pipeline.input("x", VECTOR)))
    pipeline.output(raw=y, y=Softmax()(y))  # raw is an output, and read by another stage
    pipeline.compile(gears=gears, target=target).export(tmp_path / "models")
    assert list(lint(tmp_path / "models", target, environment={})) == []
    config = read_config(tmp_path / "models", "dense_1_m")
    assert [tensor.name for tensor in (*config.input, *config.output)] == ["cast", "y.edge", "raw"]
    assert [path.name for path in (tmp_path / "models" / "dense_1_m" / "1").iterdir()] == ["model.pb"]
    batch = np.ascontiguousarray(X[: gears[-1]])
    answer = OpenVinoGraph(str(tmp_path / "models" / "dense_1_m" / "1" / "model.pb"), threads=1)({"cast": batch})
    np.testing.assert_allclose(answer["raw"], dense_answer(batch), atol=1e-6)
    assert answer["y.edge"].tobytes() == answer["raw"].tobytes()


def test_what_npu_ge_cannot_take_of_it_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="stage 'm' is a TensorFlow graph, which onnxruntime does not run"):
        declared(dense_graph(tmp_path / "m.pb")).compile(model_backend="onnxruntime").export(tmp_path / "models")
    pipeline = Pipeline("sized")
    image, _ = Letterbox(sizes=((32, 32), (32, 16)))(pipeline.input("image", TensorSpec("uint8", (64, 64, 3))))
    pipeline.output(twice=Model(str(sized_graph(tmp_path / "s.pb")), outputs=("twice",))(image))
    with pytest.raises(
        ExportError, match=r"the size of 'twice' .* follows that of the input, and npu_ge reads no names"
    ):
        pipeline.compile().export(tmp_path / "models")


@pytest.mark.parametrize(
    ("declare", "rule", "message"),
    [
        (lambda path, x: Model(f"{path}x.pb")(x), "G14", "there is no file .*m.pbx.pb"),
        (lambda path, x: Model(str(path), outputs=("yy",))(x), "G15", "has no value 'yy'"),
        (lambda path, x: Model(str(path))(Cast("float16")(x)), "G10", r"dtype is float16, model 'm' wants float32"),
        (lambda path, x: Model(str(path))(image=x), "G02", "has no input 'image'"),
        (lambda path, x: Model(str(path))(x)["scores"], "G02", "has no such output"),
    ],
)
def test_its_findings_are_those_of_any_model(
    tmp_path: Path, declare: Callable[[Path, Edge], Edge], rule: str, message: str
) -> None:
    path = dense_graph(tmp_path / "m.pb")
    pipeline = Pipeline("dense")
    pipeline.output(y=declare(path, pipeline.input("x", VECTOR)))
    with pytest.raises(ValidationError, match=message) as error:
        pipeline.validate()
    assert [finding.rule for finding in error.value.findings] == [rule]


def test_what_looks_into_graphs_takes_it_as_it_is(tmp_path: Path) -> None:
    plan = declared(dense_graph(tmp_path / "m.pb")).compile(gears=(1, 2))
    built = Path(plan.built["m"].static[Gear(1)].path)
    assert Memory.of(plan).weights_on_npu(1, {"m": 2}) == built.stat().st_size
    (copied,) = (path for path in plan.dump_graph(tmp_path / "graphs") if path.suffix == ".pb")
    assert copied.read_bytes() == built.read_bytes()
    with plan.session() as session, session.dump_data(tmp_path / "data", layers=True):
        answer = session.run(x=X[0])
    (run,) = (tmp_path / "data").glob("run_*_m.npz")
    with np.load(run) as arrays:
        assert sorted(arrays) == ["cast", "y"]
        np.testing.assert_array_equal(arrays["y"][0], answer["y"])


@pytest.fixture(scope="module")
def audio() -> Array:
    return np.random.default_rng(0).normal(scale=0.1, size=(2, 43844, 1)).astype(np.float32)


@pytest.mark.weights
@pytest.mark.parametrize("name", ["nmp.onnx", "nmp.tflite", "nmp/saved_model.pb"])
def test_one_network_in_four_forms_gives_one_answer(audio: Array, name: str) -> None:
    """The frozen graph in a pipeline, against each form in which its makers ship it."""
    source = packaged("basic-pitch", f"{SAVED_MODELS}/{name}")
    if source.suffix == ".onnx":
        session = onnxruntime.InferenceSession(str(source), providers=["CPUExecutionProvider"])
        wanted = session.run(None, {session.get_inputs()[0].name: audio})
    else:
        network = openvino_runtime.read(source.parent if source.suffix == ".pb" else source)
        graph = OpenVinoGraph(
            openvino_runtime.reshaped(network, dict.fromkeys(openvino_runtime.ports(network.inputs), audio.shape)), 1
        )
        wanted = list(graph(dict.fromkeys(graph.inputs, audio)).values())
    pipeline = Pipeline("nmp")
    made = Model(str(NMP))(pipeline.input("audio", TensorSpec("float32", audio.shape[1:])))
    pipeline.output(contour=made, note=made["note"], onset=made["onset"])
    with pipeline.compile(gears=(1, 2)).session() as session:
        answers = session.run_batch([{"audio": sample} for sample in audio])
    for number, answer in enumerate(answers):
        assert isinstance(answer, dict)
        assert {key: value.shape for key, value in answer.items()} == {
            "contour": (172, 264), "note": (172, 88), "onset": (172, 88)
        }  # fmt: skip
        for value in answer.values():
            gaps = [np.abs(value - array[number]).max() for array in wanted if array[number].shape == value.shape]
            assert min(gaps) < 1e-5


@pytest.mark.parametrize("target", TARGETS)
def test_the_export_of_a_real_one_is_free_of_findings(tmp_path: Path, target: str) -> None:
    pipeline = Pipeline("nmp")
    made = Model(str(NMP))(pipeline.input("audio", TensorSpec("float32", (43844, 1))))
    pipeline.output(note=made["note"], onset=made["onset"])
    pipeline.compile(gears=(1, 2), target=target).export(tmp_path / "models")
    assert list(lint(tmp_path / "models", target, environment={})) == []
