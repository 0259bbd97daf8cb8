from __future__ import annotations

from collections.abc import Callable

import pytest
from gates import Gate, number, occupy

from ops import QueueError
from pipeline import Plan

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


def test_a_full_queue_says_how_full_and_what_to_do(gated: Callable[..., Plan], gate: Gate) -> None:
    with gated(max_pending=2).session() as session:
        occupy(session, gate)
        waiting = [session.submit(**number(value)) for value in (1, 2)]
        with pytest.raises(
            QueueError, match=r"2 samples wait already, and max_pending is 2\nfix: .*use map, which waits"
        ):
            session.submit(**number(3))
        waiting[0].cancel()
        session.submit(**number(5))  # its place is free again
        with pytest.raises(QueueError, match="max_pending is 2"):
            session.submit(**number(6))
        gate.opened.set()
    assert sorted(value for value in gate.values if value > 0) == [2, 5]
