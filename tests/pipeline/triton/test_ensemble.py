from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import tiny

import ops
from ge_engine import Model
from ops import ExportError, TensorSpec
from pipeline import Pipeline
from pipeline.triton.ensemble import ensemble_of


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
