from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import ops
from ge_engine import Model
from ops import Array, Edge, Op, TensorSpec
from pipeline import Deployment, Pipeline
from pipeline.passes import compiled
from pipeline.stages import Stage, partition

VECTOR = TensorSpec("float32", (8,))
PIXELS = TensorSpec("uint8", ("H", "W", 3))
SQUARE = TensorSpec("uint8", (640, 640, 3))


@dataclass(frozen=True)
class Host(Op[Edge]):
    """A user's own op that cannot be lowered."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        return x


def stages(pipeline: Pipeline, deployment: Deployment | None = None) -> tuple[Stage, ...]:
    done = compiled(pipeline.validate(deployment), deployment or Deployment())
    return partition(done.graph, done.placed)


def shown(pipeline: Pipeline, deployment: Deployment | None = None) -> list[str]:
    """Each stage as "name@level: nodes"."""
    found = stages(pipeline, deployment)
    assert all(stage.on_device == (stage.level % 2 == 1) for stage in found)
    assert [stage.level for stage in found] == sorted(stage.level for stage in found)
    return [f"{stage.name}@{stage.level}: {' '.join(step.name for step in stage.steps)}" for stage in found]


@pytest.fixture
def weights(models: Path) -> Path:
    return models / "weights"


def normalize(image: Edge) -> Edge:
    return ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(image)


def test_a_detector_is_host_device_host(weights: Path) -> None:
    pipeline = Pipeline("detector")
    image, transform = ops.Letterbox(height=640, width=640)(pipeline.input("image", PIXELS))
    y = Model(weights / "square.onnx")(normalize(image))
    pipeline.output(y=Host()(y), transform=transform)
    assert shown(pipeline) == ["host0@0: letterbox", "square@1: normalize square", "host2@2: host"]
    first, model, last = stages(pipeline)
    assert [key for key, _ in first.inputs] == ["image"]
    assert [key for key, _ in first.outputs] == ["letterbox.image", "letterbox.transform"]
    assert [(key, str(spec)) for key, spec in model.inputs] == [("letterbox.image", "uint8[640,640,3]")]
    assert [key for key, _ in model.outputs] == ["y"]
    assert [key for key, _ in last.inputs] == ["y"]


def test_two_towers_are_two_device_stages_of_one_level(weights: Path) -> None:
    pipeline = Pipeline("towers")
    a = ops.L2Normalize()(Model(weights / "dense.onnx", name="image")(Host()(pipeline.input("a", VECTOR))))
    b = ops.L2Normalize()(Model(weights / "dense.onnx", name="text")(Host()(pipeline.input("b", VECTOR))))
    pipeline.output(similarity=ops.Similarity()(a, b))
    assert shown(pipeline) == [
        "host0@0: host host_2",
        "image@1: image l2_normalize",
        "text@1: text l2_normalize_2",
        "host2@2: similarity",
    ]
    settings = Deployment(gears={"image": (1, 4), "text": (1, 32)})
    assert [stage.batches for stage in stages(pipeline, settings)] == [(), (1, 4), (1, 32), ()]


def test_models_in_a_row_are_one_stage(weights: Path) -> None:
    pipeline = Pipeline("row")
    y = Model(weights / "dense.onnx")(Model(weights / "heads.onnx")(pipeline.input("x", VECTOR))["high"])
    pipeline.output(y=y)
    assert shown(pipeline) == ["heads_dense@1: heads dense"]
    assert [key for key, _ in stages(pipeline)[0].outputs] == ["y"]


def test_an_op_between_models_is_in_their_stage(weights: Path) -> None:
    pipeline = Pipeline("between")
    soft = ops.Softmax()(Model(weights / "heads.onnx")(pipeline.input("x", VECTOR)))
    pipeline.output(y=Model(weights / "dense.onnx")(soft))
    assert shown(pipeline) == ["heads_dense@1: heads softmax dense"]


@pytest.mark.parametrize(
    ("second", "gears"),
    [("dense.onnx", {"heads": (1, 4), "dense": (1, 2)}), ("opset13.onnx", (1, 4))],
    ids=["gears", "opset"],
)
def test_models_of_other_gears_or_opsets_meet_on_the_host(second: str, gears: object, weights: Path) -> None:
    pipeline = Pipeline("meet")
    soft = ops.Softmax()(Model(weights / "heads.onnx")(pipeline.input("x", VECTOR)))
    pipeline.output(y=Model(weights / second)(soft))
    name = second.removesuffix(".onnx")
    found = shown(pipeline, Deployment.of(None, gears=gears))
    assert found == ["heads@1: heads", f"{name}@3: softmax {name}"]


def test_an_op_that_feeds_models_of_other_gears_is_on_the_host(weights: Path) -> None:
    pipeline = Pipeline("both")
    soft = ops.Softmax()(pipeline.input("x", VECTOR))
    pipeline.output(y=Model(weights / "dense.onnx")(soft), z=Model(weights / "heads.onnx")(soft))
    apart = Deployment(gears={"dense": (1, 2), "heads": (1, 4)})
    assert shown(pipeline, apart) == ["host0@0: softmax", "dense@1: dense", "heads@1: heads"]
    assert shown(pipeline) == ["dense_heads@1: softmax dense heads"]


def test_what_is_an_output_too_is_made_on_the_host() -> None:
    pipeline = Pipeline("shown")
    x = ops.Softmax()(pipeline.input("x", VECTOR))
    pipeline.output(x_=x)
    assert shown(pipeline) == ["host0@0: softmax"]


def test_normalize_whose_result_is_an_output_is_on_the_host(weights: Path) -> None:
    pipeline = Pipeline("shown")
    x = normalize(pipeline.input("image", SQUARE))
    pipeline.output(y=Model(weights / "square.onnx")(x), pixels=x)
    assert shown(pipeline) == ["host0@0: normalize", "square@1: square"]


def test_normalize_that_a_host_op_reads_too_is_on_the_host(weights: Path) -> None:
    pipeline = Pipeline("shared")
    x = normalize(pipeline.input("image", SQUARE))
    pipeline.output(y=Model(weights / "square.onnx")(x), z=Host()(x))
    assert shown(pipeline) == ["host0@0: normalize host", "square@1: square"]


def test_an_input_of_unknown_size_keeps_an_op_on_the_host(weights: Path) -> None:
    pipeline = Pipeline("unknown")
    x = normalize(pipeline.input("image", PIXELS))
    pipeline.output(y=ops.Cast("float16")(x))
    assert shown(pipeline) == ["host0@0: normalize cast"]


def test_a_model_read_by_a_host_op_and_a_model(weights: Path) -> None:
    pipeline = Pipeline("fork")
    high = Model(weights / "heads.onnx")(pipeline.input("x", VECTOR))["high"]
    pipeline.output(y=Model(weights / "dense.onnx")(high), z=Host()(high))
    assert shown(pipeline) == ["heads_dense@1: heads dense", "host2@2: host"]
    device, host = stages(pipeline)
    assert [key for key, _ in device.outputs] == ["high", "y"]
    assert [key for key, _ in host.inputs] == ["high"]


def test_a_path_over_the_host_parts_models_that_also_touch(weights: Path) -> None:
    pipeline = Pipeline("around")
    ids = TensorSpec("int64", (8,))
    x = Model(weights / "tokens.onnx", name="first")(pipeline.input("a", ids), pipeline.input("b", ids))
    around = Host()(ops.Cast("int64")(x))
    y = Model(weights / "tokens.onnx", name="second")(ops.Cast("int64")(x), around)
    pipeline.output(y=y)
    assert shown(pipeline) == ["first@1: first cast cast_2", "host2@2: host", "second@3: second"]


def test_constants_travel_inside_their_stage(weights: Path) -> None:
    pipeline = Pipeline("constants")
    rows = pipeline.constant("rows", np.ones((5, 8), np.float32))
    likeness = ops.Similarity()(pipeline.input("x", VECTOR), rows)
    eight = pipeline.constant("eight", np.ones((8, 5), np.float32))
    y = Model(weights / "dense.onnx")(ops.Similarity()(likeness, eight))
    pipeline.output(y=y)
    (stage,) = stages(pipeline)
    assert [step.name for step in stage.steps] == ["similarity", "similarity_2", "dense"]
    assert [key for key, _ in stage.inputs] == ["x"]


def test_three_levels_of_models(weights: Path) -> None:
    pipeline = Pipeline("deep")
    x = pipeline.input("x", VECTOR)
    for number in range(3):
        x = Model(weights / "heads.onnx", name=f"m{number}")(Host()(x))
    pipeline.output(y=x)
    assert shown(pipeline) == [
        "host0@0: host",
        "m0@1: m0",
        "host2@2: host_2",
        "m1@3: m1",
        "host4@4: host_3",
        "m2@5: m2",
    ]


def test_a_late_host_op_waits_for_its_latest_input(weights: Path) -> None:
    pipeline = Pipeline("late")
    x = pipeline.input("x", VECTOR)
    early, late = Host()(x), Model(weights / "heads.onnx")(x)
    pipeline.output(y=ops.Similarity()(early, late), z=early)
    assert shown(pipeline) == ["host0@0: host", "heads@1: heads", "host2@2: similarity"]


def test_size_gears_part_models_from_those_without(weights: Path) -> None:
    pipeline = Pipeline("sizes")
    image, transform = ops.Letterbox(sizes=((64, 64), (32, 64)))(pipeline.input("image", PIXELS))
    y = Model(weights / "any_size.onnx")(normalize(image))
    pipeline.output(y=Host()(y), transform=transform)
    assert shown(pipeline) == ["host0@0: letterbox", "any_size@1: normalize any_size", "host2@2: host"]
    assert [str(spec) for _, spec in stages(pipeline)[1].inputs] == ["uint8[H,W,3]"]


def test_one_model_used_twice_side_by_side_is_two_stages(weights: Path) -> None:
    pipeline = Pipeline("twice")
    model = Model(weights / "dense.onnx")
    pipeline.output(y=model(pipeline.input("a", VECTOR)), z=model(pipeline.input("b", VECTOR)))
    assert shown(pipeline) == ["dense@1: dense", "dense_2@1: dense_2"]


def test_a_stage_has_its_models_name_whatever_inputs_are_called(weights: Path) -> None:
    pipeline = Pipeline("names")
    pipeline.output(y=Model(weights / "dense.onnx", name="image")(pipeline.input("image", VECTOR)))
    assert shown(pipeline) == ["image@1: image_2"]


def test_no_two_stages_have_one_name(weights: Path) -> None:
    pipeline = Pipeline("names")
    pipeline.output(y=Host()(Model(weights / "dense.onnx", name="host2")(pipeline.input("x", VECTOR))))
    assert shown(pipeline) == ["host2@1: host2", "host2_2@2: host"]


def test_a_model_file_with_dots_gives_a_usable_stage_name(weights: Path, tmp_path: Path) -> None:
    path = tmp_path / "vit-b-16.img.fp32.onnx"
    path.write_bytes((weights / "dense.onnx").read_bytes())
    pipeline = Pipeline("dots")
    pipeline.output(y=Model(path)(pipeline.input("x", VECTOR)))
    found = stages(pipeline, Deployment(gears={"vit-b-16.img.fp32": (1, 4)}))
    assert [(stage.name, stage.batches) for stage in found] == [("vit-b-16_img_fp32", (1, 4))]
