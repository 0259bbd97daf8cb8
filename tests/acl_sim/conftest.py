from __future__ import annotations

from pathlib import Path

import pytest
from acl_sim import World
from acl_sim.fixtures import Npu
from acl_sim.fixtures import npu as npu
from card import Card, geared


@pytest.fixture
def broken(npu: Npu, tmp_path: Path) -> Card:
    """A card in a world whose rules may be broken."""
    world: World = npu()
    world.allow = True
    return Card(world, geared(tmp_path))
