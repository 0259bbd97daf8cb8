"""Entry: a model as one folder of a model repository: its config, and 1/model.onnx or 1/model.pb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ge_engine import Model
from ops import TensorSpec
from ops.unique import unique

from ..names import usable
from ..pipeline import Pipeline
from ..triton.repository import export_model
from .answers import Runnable
from .samples import tensors_of


def write_entry(
    op: Model, model: Runnable, folder: Path, sizes: Mapping[str, int], gears: Sequence[int], target: str
) -> None:
    """Write a model into a repository, as the only stage of a pipeline of its own. sizes: of dims that vary.

    Errors: WrongUse for a dim that varies and has no size; ValidationError; ExportError.
    """
    pipeline = Pipeline(usable(folder.name))
    taken = {"name"}  # no input may be called so

    def own(name: str) -> str:
        taken.add(free := unique(usable(name), taken))
        return free

    edges = [
        pipeline.input(own(name), TensorSpec(dtype, shape[1:]))
        for name, dtype, shape in tensors_of(model.inputs, sizes, batch=1)
    ]
    made = op(*edges)
    for output in op.output_names:
        pipeline.output(**{own(output): made[output]})
    export_model(pipeline.compile(gears=tuple(gears), target=target), folder)
