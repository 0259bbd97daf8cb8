from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from acl_sim import World
from acl_sim.fixtures import npu as npu

from ge_engine.devices.ascend import library

Install = Callable[..., World]


@pytest.fixture
def card(npu: Install) -> Iterator[Install]:
    """As npu; at the end ACL is finalised, which the simulator refuses where anything is left."""
    library.finalize()
    yield npu
    library.finalize()


@pytest.fixture
def world(card: Install) -> Any:
    """Two cards with the usual settings."""
    return card()
