"""Layer: one tensor of a graph, compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .limits import Limits
from .measures import Measure


@dataclass(frozen=True)
class Layer:
    """stage: the stage or model. index: of the node in it. slot: of the tensor among the node's outputs. dtypes: of
    both sides. measure: None where it could not be compared; then `fault` says why. agreement: for an output with a
    row of numbers for each sample, by k, the share of the k largest that both have.
    """

    stage: str
    index: int
    node: str
    op_type: str
    tensor: str
    slot: int
    shape: tuple[int, ...]
    dtypes: tuple[str, str]
    measure: Measure | None
    fault: str = ""
    is_output: bool = False
    agreement: Mapping[int, float] | None = None

    @property
    def is_judged(self) -> bool:
        """Whole numbers are not: an index is right, or another one."""
        return self.measure is not None and self.dtypes[0].startswith(("float", "bfloat"))

    def departs(self, limits: Limits) -> str:
        """Why it does; "" where it does not."""
        return limits.broken_by(self.measure) if self.is_judged and self.measure is not None else ""
