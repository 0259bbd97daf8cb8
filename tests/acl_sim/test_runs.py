from __future__ import annotations

from pathlib import Path

import numpy as np
from acl_sim.fixtures import Npu
from card import Card, geared


def test_a_client_that_keeps_the_rules_gets_its_numbers_and_leaves_nothing(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    for rows in (1, 2, 4):
        card.gear(rows)
        card.enqueue()
        card.wait()
        np.testing.assert_array_equal(card.y[:rows], 2 * card.x[:rows])
    assert world.counts["rt.memcpy_async"] == 6
    card.close()
    assert card.acl.finalize() == 0
