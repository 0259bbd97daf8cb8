from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from onnx_files import scale_model

import ops
from ge_engine import Model
from ops import Array, Edge, Op, TensorSpec
from ops.op import Builder, Value
from pipeline import Deployment, Pipeline, costs
from pipeline.passes import Compiled, compiled

PICTURE = TensorSpec("uint8", (16, 16, 3))


@dataclass(frozen=True)
class Twice(Op[Edge]):
    """A user's own op that can be lowered; how exactly, it does not say."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        return x * 2

    def lower(self, g: Builder, x: Value) -> Value:
        return g.op("Add", x, x)


def placed(pipeline: Pipeline, **fields: Any) -> list[str]:
    """The nodes on the device, in order."""
    done = run(pipeline, **fields)
    return [step.name for step in done.graph.steps if step.name in done.placed]


def run(pipeline: Pipeline, **fields: Any) -> Compiled:
    return compiled(pipeline.validate(), Deployment.of(None, **fields))


def normalize(image: Edge) -> Edge:
    return ops.Normalize(mean=(0.5,) * 3, std=(0.5,) * 3)(image)


def classifier(folder: Path, labels: tuple[str, ...] = ()) -> tuple[Pipeline, Any]:
    pipeline = Pipeline("classifier")
    scores = ops.Softmax()(Model(tiny.vector_model(folder))(pipeline.input("x", tiny.VECTOR)))
    return pipeline, ops.TopK(k=2, labels=labels)(scores)


def test_what_follows_a_model_goes_into_its_graph_and_the_last_host_stage_is_gone(tmp_path: Path) -> None:
    pipeline, best = classifier(tmp_path)
    pipeline.output(scores=best.scores, classes=best.indices)
    done = run(pipeline)
    assert list(done.placed) == ["dense", "softmax", "top_k"]
    assert [key for key, _, _ in done.graph.steps[-1].outputs] == ["top_k.scores", "top_k.indices"]
    (change,) = done.changes
    assert (change.rule, change.node) == ("place", "softmax, top_k")
    assert change.exactness == "within 1e-06 of the largest value"
    assert change.why == "a host stage less; the host is spared the work"  # as many bytes cross as before
    plan = pipeline.compile()
    assert [stage.placement for stage in plan.stages] == ["device"]
    with plan.session() as session, pipeline.compile(exact=True).session() as exact:
        for sample in tiny.vectors(20):
            got, want = session.run(**sample), exact.run(**sample)
            assert got["classes"].tolist() == want["classes"].tolist()
            np.testing.assert_allclose(got["scores"], want["scores"], rtol=0, atol=1e-6)


def test_labels_keep_top_k_on_the_host_for_no_graph_holds_them(tmp_path: Path) -> None:
    pipeline, best = classifier(tmp_path, labels=("a", "b", "c", "d"))
    pipeline.output(labels=best.labels)
    assert placed(pipeline) == ["dense", "softmax"]


def test_exact_leaves_on_the_host_what_a_graph_does_not_do_to_the_byte(tmp_path: Path) -> None:
    pipeline = Pipeline("exact")
    y = Model(tiny.picture_model(tmp_path))(normalize(pipeline.input("image", PICTURE)))
    pipeline.output(y=ops.Softmax()(y), z=Twice()(y), best=ops.TopK(k=1)(y).indices)
    assert placed(pipeline, exact=True) == ["normalize", "picture", "top_k"]
    assert placed(pipeline) == ["normalize", "picture", "softmax", "twice", "top_k"]
    (change,) = [change for change in run(pipeline).changes if "twice" in change.node]
    assert change.exactness == "as close as help() of the op says"


def test_an_op_that_would_send_more_bytes_stays_on_the_host(tmp_path: Path) -> None:
    pipeline = Pipeline("crop")
    image = pipeline.input("image", TensorSpec("uint8", (256, 256, 3)))
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(normalize(ops.CenterCrop(height=64, width=64)(image))))
    assert placed(pipeline) == ["normalize", "picture"]
    (change,) = run(pipeline).changes
    assert change.before == "on the host, normalize float32[3,64,64] crosses"
    assert change.after == "in the graph, center_crop uint8[64,64,3] crosses"
    assert change.saved == 3 * 64 * 64 * 3
    assert change.why == "an NPU is spared bytes, and the host work"


def test_where_as_many_bytes_cross_no_byte_is_said_to_be_spared(tmp_path: Path) -> None:
    pipeline = Pipeline("exact")
    x = pipeline.input("x", TensorSpec("float32", (16, 3)))
    model = Model(scale_model(tmp_path / "scale.onnx", dims=("batch", 16, 3)))
    pipeline.output(y=model(ops.Cast("float32")(ops.Cast("float32")(x))))
    (change,) = run(pipeline, exact=True).changes
    assert (change.saved, change.exactness) == (0, "bitwise")
    assert change.why == "a host stage less; the host is spared the work"


@pytest.mark.parametrize(
    ("saved", "why"),
    [
        (8, "an NPU is spared bytes, and the host work"),
        (0, "the host is spared the work"),
        (-8, "the host is spared the work, which is worth the bytes"),
    ],
)
def test_the_reason_is_that_of_the_case(saved: int, why: str) -> None:
    assert costs.Costs.of(Deployment()).reason(saved, 1.0) == why
    assert costs.Costs("built in").reason(saved, 1234.0) == "1,234 us less by the cost table (built in)"


def test_two_ops_go_together_where_one_alone_would_not_pay(tmp_path: Path) -> None:
    """float16 is less than float32, but the bytes that both are made of are less than either."""
    pipeline = Pipeline("half")
    half = ops.Cast("float16")(normalize(pipeline.input("image", TensorSpec("uint8", (128, 128, 3)))))
    model = Model(scale_model(tmp_path / "scale.onnx", dims=("batch", 3, 128, 128)))
    pipeline.output(y=model(ops.Cast("float32")(half)))
    assert placed(pipeline) == ["normalize", "cast", "cast_2", "scale"]


def test_a_bank_of_embeddings_goes_along_with_what_it_is_compared_with(tmp_path: Path) -> None:
    pipeline = Pipeline("bank")
    vector = ops.L2Normalize()(Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR)))
    bank = pipeline.constant("bank", np.eye(5, 4, dtype=np.float32))
    pipeline.output(likeness=ops.Similarity()(vector, bank), vector=vector)
    assert placed(pipeline) == ["dense", "l2_normalize", "similarity"]


def test_an_op_does_not_join_two_models(tmp_path: Path) -> None:
    pipeline = Pipeline("towers")
    model = Model(tiny.vector_model(tmp_path))
    towers = [model(pipeline.input(name, tiny.VECTOR)) for name in ("a", "b")]
    pipeline.output(likeness=ops.Similarity()(*towers))
    assert placed(pipeline) == ["dense", "dense_2"]


@pytest.mark.parametrize(("byte", "there"), [(1e-6, ["picture"]), (10.0, ["normalize", "picture"])])
def test_on_a_cpu_the_table_decides(
    byte: float, there: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = costs.Costs("a test", {"Normalize": 0.1}, {"Normalize": 5.0}, byte=byte)
    monkeypatch.setattr(costs, "measured_before", lambda: table)
    pipeline = Pipeline("table")
    image = pipeline.input("image", TensorSpec("uint8", (200, 200, 3)))
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(normalize(tiny.Same()(image))))
    assert placed(pipeline, model_backend="onnxruntime") == there
    assert placed(pipeline) == ["normalize", "picture"], "an NPU's plan does not depend on this machine"


@dataclass(frozen=True)
class Inverted(ops.Normalize):
    """It overrides what runs on the host, and inherits what would run in a graph."""

    def run(self, image: Array, out: Array | None = None) -> Array:
        return super().run(255 - image)


def test_an_op_that_overrides_run_alone_stays_on_the_host(tmp_path: Path) -> None:
    for op, expected in ((ops.Normalize, ["normalize", "picture"]), (Inverted, ["picture"])):
        pipeline = Pipeline("p")
        image = pipeline.input("image", PICTURE)
        pipeline.output(y=Model(tiny.picture_model(tmp_path))(op(mean=(0.5,) * 3, std=(0.5,) * 3)(image)))
        assert placed(pipeline) == expected
