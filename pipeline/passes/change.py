"""Change: what a pass did, for a person to read; and how exact it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ops import TensorSpec

from ..costs import assumed, usual_nbytes

BITWISE = "bitwise"
ONE_STEP = "within one uint8 step"


def within(tolerance: float | None) -> str:
    """How far a graph may be from the host, from what the op says of its lower.

    >>> within(0.0), within(1e-6)
    ('bitwise', 'within 1e-06 of the largest value')
    """
    if tolerance is None:
        return "as close as help() of the op says"
    return f"within {tolerance:.0e} of the largest value" if tolerance else BITWISE


@dataclass(frozen=True)
class Change:
    """One thing that a pass changed.

    node, where: the user's. before, after: how it was declared, and how it runs. saved: bytes of one sample that need
    not be touched, or need not cross; None where that depends on the sample: then estimate says how many it would be
    for sides of a usual size.
    """

    rule: str
    node: str
    where: str
    before: str
    after: str
    saved: int | None
    exactness: str
    why: str
    estimate: str = ""

    @property
    def saved_text(self) -> str:
        """As "602,112 bytes less", or "about 602,112 bytes less with H=448, W=448"; empty where nothing is known."""
        return self.estimate if self.saved is None else _less(self.saved)


def saving(before: Sequence[TensorSpec], after: Sequence[TensorSpec] = ()) -> tuple[int | None, str]:
    """The bytes that these tensors have more than those, as Change.saved and Change.estimate.

    >>> saving([TensorSpec("uint8", ("H", "W", 3))], [TensorSpec("uint8", (2, 2, 3))])
    (None, 'about 6,220,788 bytes less with H=1080, W=1920')
    """
    sizes = [[spec.nbytes for spec in specs if spec.nbytes is not None] for specs in (before, after)]
    if (len(sizes[0]), len(sizes[1])) == (len(before), len(after)):
        return sum(sizes[0]) - sum(sizes[1]), ""
    specs = (*before, *after)
    if any(spec.dtype == "bytes" for spec in specs):
        return None, ""  # no name says how long it may be
    return None, f"about {_less(usual_nbytes(before) - usual_nbytes(after))} with {assumed(specs)}"


def _less(nbytes: int) -> str:
    return f"{abs(nbytes):,} bytes {'less' if nbytes >= 0 else 'more'}"
