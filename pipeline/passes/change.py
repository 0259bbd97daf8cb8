"""Change: what a pass did, for a person to read; and how exact it is."""

from __future__ import annotations

from dataclasses import dataclass

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
    not be touched, or need not cross; None where that depends on the sample.
    """

    rule: str
    node: str
    where: str
    before: str
    after: str
    saved: int | None
    exactness: str
    why: str

    @property
    def saved_text(self) -> str:
        """As "602,112 bytes less"; empty where nothing is known."""
        if self.saved is None:
            return ""
        return f"{abs(self.saved):,} bytes {'less' if self.saved >= 0 else 'more'}"
