from __future__ import annotations

import filecmp
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from offline import batch_of, read_config, run_ensemble

import ops
from ge_engine import Model
from ge_engine.builder import GraphBuilder
from ops import ExportError, TensorSpec
from pipeline import Pipeline, Plan
from pipeline.triton.model_configs import other_gears
from pipeline.triton.repository import activate, export, versions


def plan_of(folder: Path, **settings: Any) -> Plan:
    return tiny.vector_pipeline(folder).compile(**settings)


def agree(plan: Plan, root: Path, samples: list[dict[str, Any]]) -> None:
    """The exported ensemble gives the session's bytes."""
    name = plan.graph.name
    batched = read_config(root, name).max_batch_size > 0
    got = run_ensemble(root, name, batch_of(samples, batched))
    with plan.session() as session:
        for row, answer in enumerate(session.run_batch(samples)):
            assert isinstance(answer, dict), answer
            for key, value in answer.items():
                wire = got[key][row]
                if value.shape != wire.shape:
                    (count,) = {int(got[k][row][0]) for k in got if k.startswith("num_")}
                    assert not wire[count:].any()
                    wire = wire[:count]
                assert wire.tobytes() == value.tobytes()


def test_batch_gears_become_a_batching_ensemble_with_every_size_a_gear(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, gears=(1, 4), streams=2)
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
    plan = plan_of(tmp_path, gears=(3,))
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
    plan = pipeline.compile()
    export(plan, tmp_path / "models")
    config = read_config(tmp_path / "models", "sized_1_picture")
    assert list(config.input[0].dims) == [1, -1, -1, 3]
    assert config.parameters["graph.ge.inputShape"].string_value == "letterbox.image:1,-1,-1,3"
    assert config.parameters["graph.ge.dynamicDims"].string_value == "32,32;32,16"
    rng = np.random.default_rng(0)
    for shape in ((50, 50, 3), (60, 30, 3)):
        agree(plan, tmp_path / "models", [{"image": rng.integers(0, 256, shape, dtype=np.uint8)}])


def test_counted_outputs_are_padded_with_zeros_and_counted(tmp_path: Path) -> None:
    pipeline = Pipeline("counted")
    big = tiny.Above(limit=5)(pipeline.input("x", tiny.VECTOR))
    pipeline.output(big=big)
    plan = pipeline.compile()
    export(plan, tmp_path / "models")
    config = read_config(tmp_path / "models", "counted")
    assert [(output.name, list(output.dims)) for output in config.output] == [
        ("big", [1, 5]),
        ("num_detections", [1, 1]),
    ]
    for sample in tiny.vectors(4):
        agree(plan, tmp_path / "models", [sample])


def test_an_output_that_another_stage_reads_is_emitted_twice(tmp_path: Path) -> None:
    pipeline = Pipeline("twice")
    scaled = tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))
    y = Model(tiny.vector_model(tmp_path))(scaled)
    pipeline.output(scaled=scaled, y=y, z=tiny.Scale(3.0)(y))
    plan = pipeline.compile(gears=(1, 2))
    export(plan, tmp_path / "models")
    steps = {
        step.model_name: dict(step.output_map)
        for step in read_config(tmp_path / "models", "twice").ensemble_scheduling.step
    }
    assert steps["twice_1_host0"] == {"scale": "scale", "scaled": "scaled"}
    assert steps["twice_1_dense"] == {"y.edge": "y.edge", "y": "y"}
    agree(plan, tmp_path / "models", tiny.vectors(2))


def test_a_value_of_unknown_size_is_made_again_where_it_cannot_cross(tmp_path: Path) -> None:
    pipeline = Pipeline("again")
    pixels = ops.CenterCrop(height=8, width=8)(pipeline.input("image", TensorSpec("uint8", ("H", "W", 3))))
    padded = ops.Pad(top=1)(ops.Resize(shorter=9)(pixels))
    image, transform = ops.Letterbox(height=16, width=16)(padded)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    y = Model(tiny.picture_model(tmp_path))(x)
    pipeline.output(y=tiny.Scale(1.0)(y), transform=transform)
    plan = pipeline.compile(gears=(1, 2))
    export(plan, tmp_path / "models")
    rng = np.random.default_rng(0)
    agree(plan, tmp_path / "models", [{"image": rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)}] * 2)


def test_a_constant_travels_with_its_stage(tmp_path: Path) -> None:
    bank = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    pipeline = Pipeline("bank")
    vector = Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR))
    pipeline.output(likeness=ops.Similarity()(vector, pipeline.constant("bank", bank)))
    plan = pipeline.compile(gears=(1, 2))
    export(plan, tmp_path / "models")
    agree(plan, tmp_path / "models", tiny.vectors(2))


def test_two_exports_of_one_plan_are_the_same_tree(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, gears=(1, 2))
    export(plan, tmp_path / "a")
    export(plan, tmp_path / "b")
    compared = filecmp.dircmp(tmp_path / "a", tmp_path / "b")

    def same(pair: Any) -> bool:
        _, differing, errors = filecmp.cmpfiles(pair.left, pair.right, pair.common_files, shallow=False)
        return not (pair.left_only or pair.right_only or differing or errors) and all(map(same, pair.subdirs.values()))

    assert same(compared)
    assert len(list((tmp_path / "a").rglob("*"))) > 20


def test_a_second_export_adds_a_version_and_points_the_ensemble_at_it(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(plan_of(tmp_path, gears=(1, 2)), root)
    export(plan_of(tmp_path, gears=(1, 2, 4)), root)
    assert versions(root, "vector") == [1, 2]
    assert read_config(root, "vector").ensemble_scheduling.step[0].model_name == "vector_2_host0"
    activate(root, "vector", 1, "24.02")
    assert read_config(root, "vector").ensemble_scheduling.step[0].model_name == "vector_1_host0"
    assert read_config(root, "vector").name == "vector"
    with pytest.raises(ExportError, match="no version 7 of vector"):
        activate(root, "vector", 7, "24.02")
    with pytest.raises(ExportError, match="has version 2 of vector"):
        export(plan_of(tmp_path, gears=(1, 2)), root, version=2)


def test_a_version_that_would_break_clients_is_refused_with_the_differences(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(plan_of(tmp_path, gears=(1, 2)), root)
    before = sorted(path.name for path in root.iterdir())
    other = Pipeline("vector")
    other.output(y=tiny.Scale(1.0)(other.input("x", TensorSpec("float32", (4,)))))
    words = r"max_batch_size was 2, is 0; .*TYPE_FP32\[8\], is TYPE_FP32\[1,4\]"
    with pytest.raises(ExportError, match=words) as caught:
        export(other.compile(), root)
    for way in ("allow_breaking=True (--allow-breaking)", "activate=False (--no-point)"):
        assert way in caught.value.fix
    assert sorted(path.name for path in root.iterdir()) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    export(other.compile(), root, activate=False)
    assert read_config(root, "vector").max_batch_size == 2
    export(other.compile(), root, allow_breaking=True)
    assert read_config(root, "vector").max_batch_size == 0


def test_other_models_of_a_repository_are_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "models"
    (root / "theirs" / "1").mkdir(parents=True)
    (root / "theirs" / "config.pbtxt").write_text("theirs")
    export(plan_of(tmp_path), root)
    assert (root / "theirs" / "config.pbtxt").read_text() == "theirs"


def test_more_than_16_gears_are_refused_with_their_number_and_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="each of the 20 gears is compiled") as error:
        export(plan_of(tmp_path, gears=(1, 20)), tmp_path / "models")
    for way in ("--gears 1,16", "max_batch_size=16", '"max_batch_size": 16'):
        assert way in error.value.fix
    export(plan_of(tmp_path, gears=(1, 20), max_batch_size=8), tmp_path / "models")
    assert read_config(tmp_path / "models", "vector").max_batch_size == 8


def test_the_settings_of_the_deployment_are_written(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path, gears=(1, 2, 4), streams=3, device_ids=(0, 2), cores="12|10", precision="fp16", profiling=True,
        dump_graph=True, response_cache=True, name_prefix="team_", host_instances=2,
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
    assert parameters["dump_graph"] == "1"
    assert config.instance_group[0].count == 6
    assert config.dynamic_batching.max_queue_delay_microseconds == 500
    assert list(config.dynamic_batching.preferred_batch_size) == [2]
    assert read_config(root, "team_vector_1_host0").instance_group[0].count == 2
    assert read_config(root, "team_vector").response_cache.enable


def test_warmup_sends_one_sample_and_the_largest_batch(tmp_path: Path) -> None:
    export(plan_of(tmp_path, gears=(1, 4), warmup=True), tmp_path / "models")
    warmups = read_config(tmp_path / "models", "vector_1_dense").model_warmup
    assert [(warmup.name, warmup.batch_size) for warmup in warmups] == [("1", 1), ("4", 4)]
    assert list(warmups[0].inputs["scale"].dims) == [8]
    assert warmups[0].inputs["scale"].random_data


def test_onnxruntime_as_the_backend_gets_no_npu_options(tmp_path: Path) -> None:
    export(plan_of(tmp_path, gears=(1, 2), model_backend="onnxruntime"), tmp_path / "models")
    config = read_config(tmp_path / "models", "vector_1_dense")
    assert config.backend == "onnxruntime"
    assert not config.parameters


def test_a_users_op_travels_with_the_modules_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubling.py").write_text(
        "from dataclasses import dataclass\nimport numpy as np\nimport ops\nfrom half_of import HALF\n\n"
        "@dataclass(frozen=True)\nclass Double(ops.Op[ops.Edge]):\n"
        "    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:\n        return x\n\n"
        "    def run(self, x):\n        return x / np.float32(HALF)\n"
    )
    (tmp_path / "half_of.py").write_text("HALF = 0.5\n")
    monkeypatch.syspath_prepend(tmp_path)
    doubling = importlib.import_module("doubling")
    pipeline = Pipeline("own")
    pipeline.output(y=doubling.Double()(pipeline.input("x", tiny.VECTOR)))
    export(pipeline.compile(), tmp_path / "models")
    folder = tmp_path / "models" / "own_1_host0" / "1"
    assert {"doubling.py", "half_of.py"} <= {path.name for path in folder.iterdir()}
    # In a fresh process that knows nothing of ours, and has a foreign `ops` on its path.
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "ops.py").write_text("raise ImportError('a foreign ops')\n")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path / 'foreign')!r}]\n"
        f"import runpy; runpy.run_path({str(folder / 'model.py')!r})\n"
        "import numpy as np; from ops.host_model import HostModel\n"
        f"print(HostModel({str(folder)!r}).run({{'x': np.full((1, 8), 3, np.float32)}})['y'].tolist())"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.stdout.strip() == str([[6.0] * 8]), done.stderr


def test_an_op_that_imports_what_the_server_lacks_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "greedy.py").write_text(
        "from dataclasses import dataclass\nimport ops\n\n"
        "@dataclass(frozen=True)\nclass Greedy(ops.Op[ops.Edge]):\n"
        "    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:\n        return x\n\n"
        "    def run(self, x):\n        import onnx\n        return x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    pipeline = Pipeline("greedy")
    pipeline.output(y=importlib.import_module("greedy").Greedy()(pipeline.input("x", tiny.VECTOR)))
    with pytest.raises(ExportError, match=r"^\S*greedy\.py:10: imports onnx, which is not on the server"):
        export(pipeline.compile(), tmp_path / "models")
    assert not list((tmp_path / "models").iterdir())


def test_an_op_beside_its_pipeline_is_told_to_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "both.py").write_text(
        "from dataclasses import dataclass\nimport ops\nfrom pipeline import Pipeline\n\n"
        "@dataclass(frozen=True)\nclass Gamma(ops.Op[ops.Edge]):\n"
        "    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:\n        return x\n\n"
        "    def run(self, x):\n        return x\n\n"
        "pipeline = Pipeline('both')\n"
        "pipeline.output(y=Gamma()(pipeline.input('x', ops.TensorSpec('float32', (8,)))))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ExportError, match=r"^both\.py:3: imports pipeline, .*, where Gamma runs") as caught:
        export(importlib.import_module("both").pipeline.compile(), tmp_path / "models")
    assert caught.value.fix.startswith("move Gamma into a module of its own")


def test_files_of_ops_are_copied_beside_the_stage(tmp_path: Path) -> None:
    for folder, word in (("a", "cat"), ("b", "dog")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", word]))
    pipeline = Pipeline("words")
    text = pipeline.input("text", ops.TEXT)
    first = ops.Tokenize(vocab=str(tmp_path / "a" / "vocab.txt"), max_length=4)(text)
    second = ops.Tokenize(vocab=str(tmp_path / "b" / "vocab.txt"), max_length=4)(text)
    pipeline.output(first=first.ids, second=second.ids)
    plan = pipeline.compile()
    export(plan, tmp_path / "models")
    for path in tmp_path.rglob("[ab]/vocab.txt"):
        path.unlink()
    got = run_ensemble(tmp_path / "models", "words", {"text": np.array([b"cat dog"], object)})
    assert got["first"].tolist() == [[2, 4, 1, 3]]
    assert got["second"].tolist() == [[2, 1, 4, 3]]


def test_two_ops_that_count_under_one_name_have_a_count_each(tmp_path: Path) -> None:
    pipeline = Pipeline("two")
    x = pipeline.input("x", tiny.VECTOR)
    pipeline.output(a=tiny.Above(limit=4, least=0.0)(x), b=tiny.Above(limit=6, least=1.0)(x))
    export(pipeline.compile(), tmp_path / "models")
    (sample,) = tiny.vectors(1)
    got = run_ensemble(tmp_path / "models", "two", {"x": sample["x"][None]})
    assert int(got["num_above_detections"][0, 0]) == min(4, int((sample["x"] > 0).sum()))
    assert int(got["num_above_2_detections"][0, 0]) == min(6, int((sample["x"] > 1).sum()))


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


def test_running_a_host_stage_leaves_its_folder_as_it_was_exported(tmp_path: Path) -> None:
    export(plan_of(tmp_path), tmp_path / "models")
    folder = tmp_path / "models" / "vector_1_host0" / "1"
    before = sorted(folder.rglob("*"))
    code = f"import sys; sys.path.append({str(folder)!r})\nimport model\n"
    subprocess.run([sys.executable, "-I", "-c", code], check=True)
    assert sorted(folder.rglob("*")) == before


def test_a_model_that_is_no_ensemble_of_ours_is_never_replaced(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    theirs = (
        "name: 'vector' backend: 'python'",
        "garbage {",
        "\xff",
        'platform: "ensemble" ensemble_scheduling { step { model_name: "other_1_x" } }',
    )
    for number, text in enumerate(theirs):
        root = tmp_path / f"models{number}"
        config = root / "vector" / "config.pbtxt"
        config.parent.mkdir(parents=True)
        config.write_text(text, encoding="latin-1")
        with pytest.raises(ExportError, match=rf"{root / 'vector'} is there, and ") as caught:
            export(plan, root, allow_breaking=True)
        assert "--no-point" in caught.value.fix
        assert config.read_text(encoding="latin-1") == text
        assert [path.name for path in root.iterdir()] == ["vector"]
        assert export(plan, root, activate=False) == ("vector_1_host0", "vector_1_dense", "vector_v1")


def test_a_pipeline_called_like_a_version_of_another_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(plan_of(tmp_path), root)
    other = Pipeline("vector_v1")
    other.output(y=tiny.Scale(1.0)(other.input("x", tiny.VECTOR)))
    with pytest.raises(ExportError, match="vector_v1 is there, and no ensemble of versions of vector_v1"):
        export(other.compile(), root, allow_breaking=True)
    assert read_config(root, "vector_v1").ensemble_scheduling.step[0].model_name == "vector_1_host0"


def test_what_an_export_that_was_cut_off_has_left_is_stepped_over_or_named(tmp_path: Path) -> None:
    root = tmp_path / "models"
    (root / "vector_1_dense").mkdir(parents=True)
    with pytest.raises(ExportError, match="vector_1_dense is there, and no version 1 of vector"):
        export(plan_of(tmp_path), root, version=1)
    assert export(plan_of(tmp_path), root)[-2:] == ("vector_v2", "vector")


@pytest.mark.parametrize("version", [0, -1, True, 1.5, "1"])
def test_a_version_is_a_whole_number(tmp_path: Path, version: Any) -> None:
    with pytest.raises(ExportError, match=f"version is {version!r}"):
        export(plan_of(tmp_path), tmp_path / "models", version=version)


def test_a_place_that_cannot_be_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "deep")
    for place in ("file", "file/models", "link"):
        with pytest.raises(ExportError, match=f"{place} cannot be a folder"):
            export(plan_of(tmp_path), tmp_path / place)


def test_a_name_too_long_for_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="a folder's name has 255 at most"):
        export(plan_of(tmp_path, name_prefix="p" * 250), tmp_path / "models")


def test_a_version_with_a_model_missing_is_not_pointed_at(tmp_path: Path) -> None:
    root = tmp_path / "models"
    export(plan_of(tmp_path), root)
    export(plan_of(tmp_path), root)
    (root / "vector_1_dense" / "config.pbtxt").unlink()
    with pytest.raises(ExportError, match="vector_v1 needs vector_1_dense, which is not there"):
        activate(root, "vector", 1, "24.02")
    (root / "vector_v1" / "config.pbtxt").unlink()
    with pytest.raises(ExportError, match="vector_v1 is there, and its config cannot be read"):
        activate(root, "vector", 1, "24.02")
    assert read_config(root, "vector").ensemble_scheduling.step[0].model_name == "vector_2_host0"


@pytest.mark.parametrize("taken", ["input", "output", "node"])
def test_a_count_is_never_called_like_something_of_the_users(tmp_path: Path, taken: str) -> None:
    pipeline = Pipeline("counts")
    x = pipeline.input("num_detections" if taken == "input" else "x", tiny.VECTOR)
    scaled = tiny.Scale(3.0)(x, name="num_detections") if taken == "node" else tiny.Scale(3.0)(x)
    pipeline.output(big=tiny.Above(limit=5)(x))
    if taken == "output":
        pipeline.output(num_detections=scaled)
    else:
        pipeline.output(y=Model(tiny.vector_model(tmp_path))(scaled))
    export(pipeline.compile(), tmp_path / "models")
    (sample,) = tiny.vectors(1)
    value = sample["x"][None]
    got = run_ensemble(tmp_path / "models", "counts", {"num_detections" if taken == "input" else "x": value})
    assert int(got["num_detections_2"][0, 0]) == min(5, int((value > 0).sum()))
    if taken == "output":
        np.testing.assert_array_equal(got["num_detections"], value * np.float32(3))


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


def test_arrays_of_bytes_have_golden_requests_too(tmp_path: Path) -> None:
    pipeline = Pipeline("words")
    pipeline.output(y=tiny.Same()(pipeline.input("x", TensorSpec("bytes", (3,)))))
    export(pipeline.compile(), tmp_path / "models")
    agree(pipeline.compile(), tmp_path / "models", [{"x": np.array([b"a", b"", b"\xff\x00"], object)}])


def test_golden_samples_that_fail_say_why_and_none_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"a golden sample fails: input 'x' .*: float32\[3\], wanted float32\[8\]"):
        export(plan_of(tmp_path), tmp_path / "models", samples=[{"x": np.zeros(3, np.float32)}])
    pipeline = Pipeline("picture")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    pipeline.output(y=ops.Resize(height=8, width=8)(pixels))
    with pytest.raises(ExportError, match=r"fails: node 'decode_image' \(DecodeImage, .*: not an image: ") as caught:
        export(pipeline.compile(), tmp_path / "models", samples=[{"image": b"text"}])
    assert caught.value.fix == "send a JPEG, PNG, WebP, BMP, TIFF or GIF"
    with pytest.raises(ExportError, match="samples is empty"):
        export(plan_of(tmp_path), tmp_path / "models", samples=[])


def test_made_up_samples_that_fail_ask_for_real_ones_and_say_where_and_why(tmp_path: Path) -> None:
    pipeline = Pipeline("picky")
    pipeline.output(y=tiny.Picky()(tiny.Scale(1e6)(pipeline.input("x", tiny.VECTOR))))
    words = r"made up of random data, fails: node 'picky' \(Picky, \S*test_repository\.py:\d+\): .*too small"
    with pytest.raises(ExportError, match=words) as caught:
        export(pipeline.compile(), tmp_path / "models")
    assert "-i NAME=@FILE" in caught.value.fix


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
    plan = plan_of(tmp_path, **settings)
    assert other_gears(plan) == ([line] if line else [])
    export(plan, tmp_path / "models")
    options = read_config(tmp_path / "models", "vector_1_dense").parameters
    compiled = options["graph.ge.dynamicDims"].string_value.replace(";", ",")
    assert not line or line.endswith(f"so {compiled} are compiled")


def test_outputs_may_be_called_like_the_nodes_before_and_behind_a_model(tmp_path: Path) -> None:
    pipeline = Pipeline("crossed")
    scaled = tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))
    y = Model(tiny.vector_model(tmp_path))(scaled)
    pipeline.output(scale=ops.Softmax()(y), softmax=y)
    plan = pipeline.compile(gears=(1, 2))
    assert [stage.placement for stage in plan.stages] == ["host", "device"]
    export(plan, tmp_path / "models")
    agree(plan, tmp_path / "models", tiny.vectors(2))
