from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from offline import agree, read_config

import ops
from ge_engine import Model
from ge_engine.builder import GraphBuilder
from ops import ExportError, TensorSpec
from pipeline import Pipeline
from pipeline.triton.lint import lint
from pipeline.triton.model_configs import other_gears
from pipeline.triton.repository import export


def test_batch_gears_become_a_batching_ensemble_with_every_size_a_gear(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 4), streams=2)
    names = export(plan, tmp_path / "models")
    assert names == ("vector_1_host0", "vector_1_dense", "vector_v1", "vector")
    config = read_config(tmp_path / "models", "vector_1_dense")
    parameters = {key: value.string_value for key, value in config.parameters.items()}
    assert parameters == {
        "device_ids": "0",
        "device_exec_blocks": "2",
        "graph.ge.inputShape": "scale:-1,8",
        "graph.ge.dynamicDims": "1;2;3;4",
        "graph.ge.dynamicNodeType": "1",
        "session.ge.exec.precision_mode_v2": "origin",
    }
    assert config.backend == "npu_ge"
    assert config.max_batch_size == 4
    assert list(config.dynamic_batching.preferred_batch_size) == [4]
    assert config.instance_group[0].count == 2
    agree(plan, tmp_path / "models", tiny.vectors(3))


def test_one_gear_becomes_a_static_model_with_the_batch_in_its_dims(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(3,))
    export(plan, tmp_path / "models")
    config = read_config(tmp_path / "models", "vector_1_dense")
    assert config.max_batch_size == 0
    assert list(config.input[0].dims) == [3, 8]
    assert config.parameters["static_model"].string_value == "1"
    assert not [key for key in config.parameters if key.startswith("graph.ge")]
    agree(plan, tmp_path / "models", tiny.vectors(3))


def test_sizes_become_size_gears_with_legal_expressions(tmp_path: Path) -> None:
    pipeline = Pipeline("sized")
    pixels = pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    image, transform = ops.Letterbox(sizes=((32, 32), (32, 16)))(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(x), transform=transform)
    plan = pipeline.compile(gears=(1, 4), streams=2)
    (line,) = other_gears(plan)
    assert line == "picture: gears 1,4: it has the sizes 32x32, 32x16, each of which npu_ge compiles for one sample"
    export(plan, tmp_path / "models")
    assert [finding for finding in lint(tmp_path / "models") if finding.rule in ("L10", "V08")] == []
    config = read_config(tmp_path / "models", "sized_1_picture")
    assert list(config.input[0].dims) == [1, -1, -1, 3]
    assert config.parameters["graph.ge.inputShape"].string_value == "letterbox.image:1,-1,-1,3"
    assert config.parameters["graph.ge.dynamicDims"].string_value == "32,32;32,16"
    rng = np.random.default_rng(0)
    for shape in ((50, 50, 3), (60, 30, 3)):
        agree(plan, tmp_path / "models", [{"image": rng.integers(0, 256, shape, dtype=np.uint8)}])


def test_more_than_16_gears_are_refused_with_their_number_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="each of the 20 gears is compiled") as error:
        export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 20)), tmp_path / "models")
    for way in ("--gears 1,16", "max_batch_size=16", '"max_batch_size": 16'):
        assert way in error.value.fix
    export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 20), max_batch_size=8), tmp_path / "models")
    assert read_config(tmp_path / "models", "vector").max_batch_size == 8


def test_the_settings_of_the_deployment_are_written(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(
        gears=(1, 2, 4), streams=3, device_ids=(0, 2), cores="12|10", precision="fp16", profiling=True,
        dump_graph=True, dump_data=True, response_cache=True, name_prefix="team_", host_instances=2,
        batching={"max_delay_us": 500, "preferred": (2,)},
    )  # fmt: skip
    root = tmp_path / "models"
    export(plan, root)
    config = read_config(root, "team_vector_1_dense")
    parameters = {key: value.string_value for key, value in config.parameters.items()}
    assert parameters["device_ids"] == "0,2"
    assert parameters["session.ge.aicoreNum"] == "12|10"
    assert parameters["session.ge.exec.precision_mode_v2"] == "fp16"
    assert parameters["profiling"] == "dynamic"
    assert parameters["dump_graph"] == parameters["dump_data"] == "1"
    assert config.instance_group[0].count == 6
    assert config.dynamic_batching.max_queue_delay_microseconds == 500
    assert list(config.dynamic_batching.preferred_batch_size) == [2]
    assert read_config(root, "team_vector_1_host0").instance_group[0].count == 2
    assert read_config(root, "team_vector").response_cache.enable


def test_warmup_sends_one_sample_and_the_largest_batch(tmp_path: Path) -> None:
    export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 4), warmup=True), tmp_path / "models")
    warmups = read_config(tmp_path / "models", "vector_1_dense").model_warmup
    assert [(warmup.name, warmup.batch_size) for warmup in warmups] == [("1", 1), ("4", 4)]
    assert list(warmups[0].inputs["scale"].dims) == [8]
    assert warmups[0].inputs["scale"].random_data


def test_onnxruntime_as_the_backend_gets_no_npu_options(tmp_path: Path) -> None:
    export(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), model_backend="onnxruntime"), tmp_path / "models")
    config = read_config(tmp_path / "models", "vector_1_dense")
    assert config.backend == "onnxruntime"
    assert not config.parameters


def test_the_names_of_the_classes_are_in_the_ensemble_for_clients_to_ask(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("猫\ndog\nbus\ncar\n", encoding="utf-8")
    pipeline = Pipeline("named")
    x = pipeline.input("x", tiny.VECTOR)
    pipeline.output(y=Model(tiny.vector_model(tmp_path), label_file=tmp_path / "labels.txt")(x))
    export(pipeline.compile(), tmp_path / "models")
    parameters = read_config(tmp_path / "models", "named").parameters
    assert {key: json.loads(value.string_value) for key, value in parameters.items()} == {
        "labels.dense": ["猫", "dog", "bus", "car"]
    }


def test_scores_of_named_classes_have_a_file_of_labels(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("猫\ndog\nbus\ncar\n", encoding="utf-8")
    pipeline = Pipeline("named")
    x = pipeline.input("x", tiny.VECTOR)
    pipeline.output(y=Model(tiny.vector_model(tmp_path), label_file=tmp_path / "labels.txt")(x))
    export(pipeline.compile(), tmp_path / "models")
    (output,) = read_config(tmp_path / "models", "named_1_dense").output
    folder = tmp_path / "models" / "named_1_dense"
    assert (folder / output.label_filename).read_text(encoding="utf-8").splitlines() == ["猫", "dog", "bus", "car"]


def test_a_type_that_the_backend_cannot_take_is_refused(tmp_path: Path) -> None:
    g = GraphBuilder(17)
    g.output("y", g.op("Neg", g.input("x", TensorSpec("float64", (8,)))), TensorSpec("float64", (8,)))
    (tmp_path / "double.onnx").write_bytes(g.model().SerializeToString())
    pipeline = Pipeline("double")
    pipeline.output(y=Model(tmp_path / "double.onnx")(pipeline.input("x", TensorSpec("float64", (8,)))))
    with pytest.raises(ExportError, match="is float64, which npu_ge cannot take"):
        export(pipeline.compile(), tmp_path / "models")
    pipeline = Pipeline("brain")
    pipeline.output(y=tiny.Same()(pipeline.input("x", TensorSpec("bfloat16", (3,)))))
    with pytest.raises(ExportError, match="is bfloat16, which python cannot take"):
        export(pipeline.compile(), tmp_path / "models")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"gears": (1, 4)}, "dense: gears 1,4: a server merges to any size, so 1,2,3,4 are compiled"),
        ({"gears": (1, 9), "max_batch_size": 2}, "dense: gears 1,9: a server merges to any size, so 1,2 are compiled"),
        ({"gears": (1, 2, 3)}, ""),
        ({"gears": (3,)}, ""),
        ({"gears": (1, 4), "model_backend": "onnxruntime"}, ""),
    ],
)
def test_gears_that_nobody_asked_for_are_told(settings: dict[str, Any], line: str, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(**settings)
    assert other_gears(plan) == ([line] if line else [])
    export(plan, tmp_path / "models")
    options = read_config(tmp_path / "models", "vector_1_dense").parameters
    compiled = options["graph.ge.dynamicDims"].string_value.replace(";", ",")
    assert not line or line.endswith(f"so {compiled} are compiled")
