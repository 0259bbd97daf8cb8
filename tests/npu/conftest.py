"""Tests on a real card: `make test-npu`, or -m npu. Without that word they are deselected: no machine of CI has one."""

from __future__ import annotations

import re

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if re.search(r"\bnpu\b", str(config.getoption("markexpr"))):
        return
    chosen = [item for item in items if item.get_closest_marker("npu") is None]
    if len(chosen) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
