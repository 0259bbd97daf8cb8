"""An exported repository, run step by step without a server: the host folders and ONNX Runtime on the device models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from ops import Array
from ops.host_model import HostModel
from pipeline import Plan
from pipeline.triton.config import parse


def read_config(root: Path, name: str) -> Any:
    return parse((root / name / "config.pbtxt").read_text(encoding="utf-8"))


def run_ensemble(root: Path, name: str, tensors: dict[str, Array]) -> dict[str, Array]:
    """The outputs of an ensemble for one request."""
    config = read_config(root, name)
    values = dict(tensors)
    for step in config.ensemble_scheduling.step:
        inputs = {key: values[tensor] for key, tensor in step.input_map.items()}
        folder = root / step.model_name / "1"
        if (folder / "model.py").exists():
            outputs = HostModel(str(folder)).run(inputs)
        else:
            session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
            names = [value.name for value in session.get_outputs()]
            outputs = dict(zip(names, session.run(names, inputs)))
        values.update({tensor: outputs[key] for key, tensor in step.output_map.items()})
    return {output.name: values[output.name] for output in config.output}


def batch_of(samples: list[dict[str, Any]], batched: bool) -> dict[str, Array]:
    """Samples as the tensors of one request; bytes get the wire's own axis where the server has the batch."""
    tensors = {}
    for name in samples[0]:
        rows = [sample[name] for sample in samples]
        if isinstance(rows[0], (bytes, str)):
            array = np.array([row.encode() if isinstance(row, str) else row for row in rows], object)
            tensors[name] = array.reshape(-1, 1) if batched else array
        else:
            tensors[name] = np.stack(rows)
    return tensors


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
