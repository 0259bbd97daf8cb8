"""Costs: what a step and a crossing cost, as the passes weigh them: a table, of which each machine may have its own."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ge_engine.cache import Cache, cache_folder
from ge_engine.whole_file import write_whole
from ops import Counted, Graded, Op, TensorSpec
from ops.host_stage import Step

from .deployment import Deployment

FORMAT = 1
WEIGHED = "onnxruntime"  # the model_backend whose plans are weighed by this machine's table
# What a side of unknown size is taken for, by the names that ops give it.
PICTURE = {"H": 1080, "W": 1920, "resized_height": 256, "resized_width": 341}
UNKNOWN_SIDE = 256
UNKNOWN_OP = 1.0  # ns an element, of an op that is not in the table

# ns an element of the largest tensor, on one core of a server with AVX-512: `gepipe plan --measure` replaces them.
_HOST = {
    "Cast": 0.12,
    "CenterCrop": 0.04,
    "L2Normalize": 0.4,
    "Normalize": 0.34,
    "Pad": 0.05,
    "Similarity": 0.2,
    "Softmax": 0.9,
    "SwapChannels": 0.04,
    "TopK": 6.9,
}
_CPU_GRAPH = {
    "Cast": 0.12,
    "CenterCrop": 0.05,
    "L2Normalize": 0.53,
    "Normalize": 0.5,
    "Pad": 0.06,
    "Similarity": 0.07,
    "Softmax": 0.32,
    "SwapChannels": 0.6,
    "TopK": 1.6,
}


@dataclass(frozen=True)
class Costs:
    """Nanoseconds: an element of a step's largest tensor, a call on the host, a byte that crosses, a host stage.

    source: where the numbers are from. The stage is what a request costs in Triton's Python backend besides its ops.
    """

    source: str
    host: Mapping[str, float] = field(default_factory=lambda: _HOST)
    graph: Mapping[str, float] = field(default_factory=lambda: _CPU_GRAPH)
    call: float = 5_000.0
    byte: float = 0.02
    stage: float = 1_000_000.0

    @classmethod
    def of(cls, deployment: Deployment) -> Costs:
        """For what the deployment is for. An NPU's plan is the same wherever it is compiled; a CPU's is this machine's.

        A byte to an NPU is copied by two servers' processes and over a bus. Its price here stands above what any op
        costs a byte on the host, so that fewer bytes win; an op in the NPU's graph counts as nothing beside it. In one
        process on a CPU the stages share their buffers, and a byte costs little more than its cache line.
        """
        if deployment.model_backend != WEIGHED:
            return cls("npu_ge", graph={}, byte=10.0)
        return measured_before() or cls("built in")

    def on_host(self, op: Op[Any], specs: Iterable[TensorSpec]) -> float:
        return self.call + self.host.get(type(op).__name__, UNKNOWN_OP) * elements(specs)

    def in_graph(self, op: Op[Any], specs: Iterable[TensorSpec]) -> float:
        """Nothing, where the table has no ops at all: a device beside which they do not count."""
        if not self.graph:
            return 0.0
        return self.graph.get(type(op).__name__, UNKNOWN_OP) * elements(specs)

    def reason(self, saved_nbytes: int, saved_us: float) -> str:
        """Why, for a person: an NPU's prices are no times."""
        if not self.graph:
            if saved_nbytes < 0:
                return "the host is spared the work, which is worth the bytes"
            return "an NPU is spared bytes, and the host work" if saved_nbytes else "the host is spared the work"
        return f"{saved_us:,.0f} us less by the cost table ({self.source})"

    def crossing(self, spec: TensorSpec) -> float:
        return self.byte * (spec.nbytes or 0)


def specs_of(step: Step, known: Mapping[str, TensorSpec]) -> list[TensorSpec]:
    """What a step reads and makes."""
    return [*(known[key] for key in step.inputs), *(spec for _, _, spec in step.outputs)]


def elements(specs: Iterable[TensorSpec]) -> int:
    """Of the largest tensor; a side of unknown size is a full HD picture's.

    >>> elements([TensorSpec("uint8", ("H", "W", 3)), TensorSpec("float32", (3, 224, 224))])
    6220800
    """
    return max((math.prod(_side(dim) for dim in spec.shape) for spec in specs), default=0)


def usual_nbytes(specs: Iterable[TensorSpec]) -> int:
    """Of all these tensors, where sides of unknown size are as in `elements`."""
    return sum(elements([spec]) * spec.numpy.itemsize for spec in specs)


def assumed(specs: Iterable[TensorSpec]) -> str:
    """What the sides of unknown size are taken for.

    >>> assumed([TensorSpec("uint8", ("H", "W", 3))])
    'H=1080, W=1920'
    """
    names = (dim for spec in specs for dim in spec.shape if isinstance(dim, str))
    return ", ".join(f"{name}={_side(name)}" for name in dict.fromkeys(names))


def _side(dim: Any) -> int:
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Graded):
        return max(dim.values)
    return dim.limit if isinstance(dim, Counted) else PICTURE.get(dim, UNKNOWN_SIDE)


def file() -> Path:
    """Where this machine's table is kept: beside what is compiled, which may be off.

    Errors: OSError for a user who has no home; BuildError for settings of the cache that are none.
    """
    cache = Cache.of_environment()
    return (cache_folder() if cache is None else cache.folder) / "costs.json"


def measured_before() -> Costs | None:
    """The table of this machine; None where there is none, or none that steps can be weighed by."""
    try:
        document = json.loads(file().read_text(encoding="utf-8"))
        if document.pop("format") != FORMAT:
            return None
        found = Costs(measured_source(), **document)
        prices = (*found.host.values(), *found.graph.values(), found.call, found.byte, found.stage)
        return found if found.graph and all(0 <= price < math.inf for price in prices) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def keep(table: Costs) -> None:
    """Make it this machine's table. Errors: OSError."""
    document = {"format": FORMAT, **dataclasses.asdict(table)}
    del document["source"]
    file().parent.mkdir(parents=True, exist_ok=True)
    write_whole(file(), json.dumps(document, indent=1) + "\n")


def measured_source() -> str:
    """The source of a table that is this machine's. Errors: OSError for a user who has no home."""
    return f"measured, {file()}"
