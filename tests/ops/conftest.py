from __future__ import annotations

import expecting
import pytest


@pytest.fixture
def expect() -> expecting.Expect:
    return expecting.expect
