"""Entry: a model as one folder of a model repository: its config, 1/model.onnx or 1/model.pb, and golden requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ge_engine import Model
from ops import Array, TensorSpec
from ops.unique import unique

from ..names import usable
from ..pipeline import Pipeline
from ..triton.golden import Reference
from ..triton.repository import export_model
from .answers import Feeds, Runnable
from .axes import Sizes, tensors_of
from .comparison import Answers
from .options import Options

_SAMPLES = 2  # of golden requests: each alone, and both in a batch


@dataclass(frozen=True)
class Golden:
    """Inputs for golden requests. wanted: what `by` answers to them; by default the entry itself is asked."""

    feeds: Feeds
    wanted: Answers | None = None
    by: str = ""


def write_entry(op: Model, model: Runnable, folder: Path, sizes: Sizes, options: Options, golden: Golden) -> None:
    """Write a model into a repository, as the only stage of a pipeline of its own. sizes: of axes that vary.

    Errors: WrongUse for an axis that varies and has no size; ValidationError; ExportError.
    """
    pipeline = Pipeline(usable(folder.name))
    taken = {"name"}  # no input may be called so

    def own(name: str) -> str:
        taken.add(free := unique(usable(name), taken))
        return free

    tensors = tensors_of(model.inputs, sizes, batch=1)
    inputs = {name: own(name) for name, _, _ in tensors}
    made = op(*(pipeline.input(inputs[name], TensorSpec(dtype, shape[1:])) for name, dtype, shape in tensors))
    outputs = {name: own(name) for name in op.output_names}
    pipeline.output(**{outputs[name]: made[name] for name in outputs})
    plan = pipeline.compile(gears=options.gears or (1,), target=options.target)
    export_model(plan, folder, _rows(golden.feeds, inputs), _reference(golden, outputs, options.tolerance))


def _reference(golden: Golden, names: Mapping[str, str], tolerance: float) -> Reference | None:
    """A difference is told relative to the largest value here, and there to each: small ones may differ by as much."""
    if golden.wanted is None:
        return None
    largest = max(float(np.abs(array).max(initial=0)) for array in golden.wanted.values())
    return Reference(golden.by, _rows(golden.wanted, names), tolerance * max(1.0, largest))


def _rows(arrays: Mapping[str, Array], names: Mapping[str, str]) -> list[dict[str, Array]]:
    """The first rows, each a sample."""
    count = min(_SAMPLES, *(len(array) for array in arrays.values()))
    return [{names[name]: array[row] for name, array in arrays.items()} for row in range(count)]
