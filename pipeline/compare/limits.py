"""Limits: from where on a tensor departs."""

from __future__ import annotations

from dataclasses import dataclass

from ops import WrongUse

from .measures import Measure


@dataclass(frozen=True)
class Limits:
    """The least CosineSimilarity and the largest RelativeEuclideanDistance that count as alike; by default those that
    Ascend's documents recommend. A value that is finite on one side only always departs.

    Errors: WrongUse for a limit that nothing, or everything, would keep.
    """

    cosine: float = 0.99
    distance: float = 0.05

    def __post_init__(self) -> None:
        if not -1 < self.cosine <= 1:
            raise WrongUse(f"the cosine limit is {self.cosine}", fix="give a number above -1, up to 1, as 0.99")
        if not self.distance >= 0:
            raise WrongUse(f"the distance limit is {self.distance}", fix="give a number of at least 0, as 0.05")

    def broken_by(self, measure: Measure) -> str:
        """Why a tensor departs; "" where it does not."""
        if measure.broken:
            return f"{measure.broken} values are not finite alike"
        if not measure.cosine >= self.cosine:  # no number is none that keeps it
            return f"cosine similarity {measure.cosine:.4f} is below {self.cosine}"
        if not measure.distance <= self.distance:
            return f"relative Euclidean distance {measure.distance:.3g} is above {self.distance}"
        return ""

    def __str__(self) -> str:
        return f"cosine similarity at least {self.cosine}, relative Euclidean distance at most {self.distance}"
