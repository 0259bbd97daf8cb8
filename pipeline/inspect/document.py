"""Document: facts, findings and fixes as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ge_engine.inspect.facts import Facts
from ge_engine.inspect.file_facts import Port
from ge_engine.inspect.gear_facts import GearFacts
from ge_engine.inspect.operators import DOCUMENTED, Release
from ops import Finding


def document(facts: Facts, findings: Sequence[Finding], streams: int, release: Release = DOCUMENTED) -> dict[str, Any]:
    """All that the table shows, and what it leaves out. Sizes are bytes; a null is a size that is not known."""
    file = facts.file
    return {
        "path": file.path,
        "nbytes": file.nbytes,
        "ir": file.ir or None,
        "opset": file.opset or None,
        "domains": dict(file.domains),
        "producer": file.producer,
        "metadata": dict(file.metadata),
        "inputs": list(map(_port, file.inputs)),
        "outputs": list(map(_port, file.outputs)),
        "operators": dict(file.operators),
        "not_known_to_ge": release.unknown(file.operators, file.opset),
        "cann": release.cann or None,
        "weights": file.weights,
        "largest_weight": dict(zip(("name", "nbytes"), file.largest_weight)),
        "data_files": [asdict(data) for data in file.data_files],
        "free_axes": {name: list(axes) for name, axes in facts.free.items()},
        "folds": dict(facts.folds),
        "unsized": list(facts.unsized),
        "gears": list(map(_gear, facts.gears)),
        "streams": streams,
        "memory": facts.memory(streams),
        "findings": [finding.as_dict() for finding in findings],
    }


def _port(port: Port) -> dict[str, Any]:
    dims = None if port.dims is None else [dim if dim != "" else None for dim in port.dims]
    return {"name": port.name, "dtype": port.dtype, "dims": dims, "layout": port.layout}


def _gear(gear: GearFacts) -> dict[str, Any]:
    asked = {"batch": gear.gear.batch, "sizes": dict(gear.gear.dims)}
    if gear.error:
        return {**asked, "error": gear.error}
    return {
        **asked,
        "inputs": {name: list(shape) for name, shape in gear.shapes.items()},
        "outputs": {name: None if shape is None else list(shape) for name, shape in gear.output_shapes.items()},
        "nodes": gear.num_nodes,
        "operators": dict(gear.operators),
        "flops": gear.flops,
        "known_flops": gear.known_flops,
        "input_bytes": gear.input_bytes,
        "output_bytes": gear.output_bytes,
        "peak_bytes": gear.peak,
        "moved_bytes": gear.moved,
        "largest_value": dict(zip(("name", "nbytes"), gear.largest)),
        "dynamic": {name: list(chain) for name, chain in gear.dynamic.items()},
    }
