from __future__ import annotations

import os
import sys

import pytest

from ge_engine.devices.ascend import library
from pipeline.doctor.tiny_sum import tiny_sum


def test_the_devices_of_a_laptop_add_up() -> None:
    assert (tiny_sum("cpu").ok, tiny_sum("cpu").seen) == (True, "2 + 2 = 4")
    assert tiny_sum("null").ok


def test_a_device_that_does_not_open_is_reported_and_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acl", None)  # as where it is not installed
    library.finalize()
    check = tiny_sum("npu:0")
    assert not check.ok
    assert "pyACL, CANN's Python module `acl`, cannot be imported" in check.seen
    assert "set_env.sh" in check.fix


def test_the_compile_cache_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.environ["GEPIPE_CACHE"]
    tiny_sum("cpu")
    assert os.environ["GEPIPE_CACHE"] == before
    monkeypatch.delenv("GEPIPE_CACHE")
    tiny_sum("null")
    assert "GEPIPE_CACHE" not in os.environ
