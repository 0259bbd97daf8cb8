from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tiny
from offline import agree, read_config, run_ensemble

import ops
from ge_engine import Model
from ops import ExportError, TensorSpec
from pipeline import Pipeline
from pipeline.triton.ensemble import ensemble_of
from pipeline.triton.repository import export


@dataclass(frozen=True)
class Rescore(ops.Op[ops.Edge]):
    """A user's own op that looks at the picture once more, when the model has answered."""

    def infer(self, scores: TensorSpec, image: TensorSpec) -> TensorSpec:
        return scores

    def run(self, scores: ops.Array, image: ops.Array) -> ops.Array:
        return scores * image.mean(dtype=scores.dtype)


def test_models_of_different_single_gears_make_no_ensemble(tmp_path: Path) -> None:
    pipeline = Pipeline("two")
    x = pipeline.input("x", tiny.VECTOR)
    for name in ("a", "b"):
        pipeline.output(**{name: Model(tiny.vector_model(tmp_path, name))(x)})
    plan = pipeline.compile(gears={"a": (2,), "b": (4,)})
    with pytest.raises(ExportError, match=r"the models take \[\(2,\), \(4,\)\] samples each"):
        ensemble_of(plan)


def test_a_batch_above_the_largest_gear_is_refused_with_both(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4), max_batch_size=8)
    with pytest.raises(ExportError, match="max_batch_size is 8, the largest gear is 4"):
        ensemble_of(plan)


def test_what_a_users_op_makes_is_not_made_again_for_nobody_knows_that_it_would_be_the_same(tmp_path: Path) -> None:
    pipeline = Pipeline("again")
    pixels = tiny.Same()(pipeline.input("image", TensorSpec("uint8", ("H", "W", 3))))
    image, _ = ops.Letterbox(height=16, width=16)(pixels)
    y = Model(tiny.picture_model(tmp_path))(ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image))
    pipeline.output(z=Rescore()(y, pixels))
    with pytest.raises(ExportError, match=re.escape("its size varies, and it cannot be made again")) as caught:
        ensemble_of(pipeline.compile(gears=(1, 2)))
    assert caught.value.fix.startswith("put a Resize or Letterbox between, or compile with gears=(1,)")


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


def test_two_ops_that_count_under_one_name_have_a_count_each(tmp_path: Path) -> None:
    pipeline = Pipeline("two")
    x = pipeline.input("x", tiny.VECTOR)
    pipeline.output(a=tiny.Above(limit=4, least=0.0)(x), b=tiny.Above(limit=6, least=1.0)(x))
    export(pipeline.compile(), tmp_path / "models")
    (sample,) = tiny.vectors(1)
    got = run_ensemble(tmp_path / "models", "two", {"x": sample["x"][None]})
    assert int(got["num_above_detections"][0, 0]) == min(4, int((sample["x"] > 0).sum()))
    assert int(got["num_above_2_detections"][0, 0]) == min(6, int((sample["x"] > 1).sum()))


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


def test_outputs_may_be_called_like_the_nodes_before_and_behind_a_model(tmp_path: Path) -> None:
    pipeline = Pipeline("crossed")
    scaled = tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))
    y = Model(tiny.vector_model(tmp_path))(scaled)
    pipeline.output(scale=ops.Softmax()(y), softmax=y)
    plan = pipeline.compile(gears=(1, 2))
    assert [stage.placement for stage in plan.stages] == ["host", "device"]
    export(plan, tmp_path / "models")
    agree(plan, tmp_path / "models", tiny.vectors(2))
