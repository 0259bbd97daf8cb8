"""Golden requests: samples and the in-process answers to them, to hold a server against."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ops import Array, DeviceError, ExportError, GepipeError, ServerError
from ops.spec_json import array_to_json

from ..made_up import made_up
from ..plan import Plan
from .ensemble import Ensemble, Tensor
from .verify_client import decode

GOLDEN = "golden.json"
FORMAT = 1
TOLERANCE = 1e-4  # relative, on a machine of another make
Sample = Mapping[str, Any]


@dataclass(frozen=True)
class Reference:
    """Answers of something else, which a server is to give. by: of what. tolerance: within which, relative."""

    by: str
    answers: Sequence[Sample]
    tolerance: float


def golden_requests(
    plan: Plan, ensemble: Ensemble, samples: Sequence[Sample] | None = None, reference: Reference | None = None
) -> dict[str, Any]:
    """The document that an export carries: each sample alone, and all in one batch where the server batches.

    samples: the user's own; made up by default, from the inputs' specs. reference: the answers to those samples; by
    default the pipeline's own.
    Errors: ExportError when the pipeline itself cannot answer one.
    """
    if samples is not None and not samples:
        raise ExportError(
            "samples is empty: nothing would be verified", fix="give one at least, or None for made-up ones"
        )
    rows = ensemble.rows or 1
    chosen = list(samples) if samples is not None else made_up(plan.graph, 2 * rows)
    order = [i % len(chosen) for i in range(max(rows, len(chosen) - len(chosen) % rows))]
    batches = [order[i : i + rows] for i in range(0, len(order), rows)]
    if 1 < len(order) <= ensemble.max_batch_size:
        batches.append(order)
    with plan.session() as session:
        requests = []
        for batch in batches:
            asked = [chosen[i] for i in batch]
            answers: Sequence[Any] = session.run_batch(asked)
            for answer in answers:
                if isinstance(answer, GepipeError):
                    raise _failure(answer, is_made_up=samples is None) from answer
            if reference is not None:
                answers = [reference.answers[i] for i in batch]
            requests.append(_request(ensemble, asked, answers))
    return {
        "format": FORMAT,
        "model": ensemble.name,
        "machine": machine() if reference is None else reference.by,
        "versions": {name: version(name) for name in ("numpy", "onnxruntime")} | {"cv2": cv2.__version__},
        "precision": str(plan.deployment.precision),
        "tolerance": TOLERANCE if reference is None else reference.tolerance,
        "requests": requests,
    }


def _failure(error: GepipeError, is_made_up: bool) -> ExportError:
    """The pipeline's own words, and its remedy for a sample that somebody chose."""
    reason = f"{error.where}: {error.message}" if error.where else error.message
    other = "give samples that the pipeline answers: -i NAME=@FILE for each input, or samples=[...]"
    if is_made_up and isinstance(error, DeviceError):
        other = f"{error.fix}; or {other}"  # ids, say, that the pipeline itself has made
    if is_made_up:
        return ExportError(f"a golden sample, made up of random data, fails: {reason}", fix=other)
    return ExportError(f"a golden sample fails: {reason}", fix=error.fix or other)


def golden_files(directory: Path) -> list[Path]:
    """The golden requests of the ensembles in a repository."""
    return sorted(directory.glob(f"*/*/{GOLDEN}"))


def read_golden(file: Path) -> dict[str, Any]:
    """Golden requests, every array of them looked at.

    Errors: ServerError for a file that is none, or is damaged.
    """
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"it has format {document['format']!r}, wanted {FORMAT}")
        if not (document["requests"] and {"model", "machine", "tolerance"} <= set(document)):
            raise ValueError("it has no requests, or does not say of which model")
        for request in document["requests"]:
            for value in (*request["inputs"].values(), *request["outputs"].values()):
                decode(value)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ServerError(f"{file} holds no golden requests: {reason}", fix="export that version anew") from error
    return document


def machine() -> str:
    """What two machines have in common that give the same bytes: architecture and processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            words = [line.partition(":")[2].strip() for line in file if line.startswith(("model name", "CPU part"))]
    except OSError:
        words = [platform.processor()]
    return " ".join([platform.machine(), *words[:1]])


def _request(ensemble: Ensemble, batch: Sequence[Sample], answers: Sequence[Any]) -> dict[str, Any]:
    inputs = {t.name: array_to_json(_stack(t, [sample[t.name] for sample in batch], ensemble)) for t in ensemble.inputs}
    outputs = {}
    counts = {tensor.count: tensor.name for tensor in ensemble.outputs if tensor.count}
    for tensor in ensemble.outputs:
        name = counts.get(tensor.key, tensor.name)  # a count is the length of a value that it counts
        values = [answer[name] for answer in answers]
        if tensor.is_count:
            values = [np.array([len(value)], np.int32) for value in values]
        outputs[tensor.name] = array_to_json(_stack(tensor, values, ensemble))
    return {"inputs": inputs, "outputs": outputs}


def _stack(tensor: Tensor, values: Sequence[Any], ensemble: Ensemble) -> Array:
    """Values as they cross the wire: dtype[n, *shape], counted rows padded with zeros.

    Bytes are object[n,1] where the server has a batch, else object[n].
    """
    if not tensor.spec.shape:
        data = [value.encode() if isinstance(value, str) else bytes(value) for value in values]
        array = np.empty(len(data), object)
        array[:] = data
        return array.reshape(-1, 1) if ensemble.max_batch_size else array
    if not tensor.count:
        return np.stack(values)
    shape = tensor.spec.max_shape
    assert shape is not None
    padded = np.full((len(values), *shape), b"" if tensor.spec.dtype == "bytes" else 0, tensor.spec.numpy)
    for row, value in zip(padded, values):
        row[: len(value)] = value
    return padded
