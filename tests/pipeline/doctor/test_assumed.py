from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acl_sim import World
from acl_sim.model import Model

from ge_engine.cache import Cache
from pipeline.doctor import assumed
from pipeline.doctor.check import Check

Install = Callable[..., World]


def tried(*numbers: int) -> dict[str, Check]:
    return {check.name: check for check in assumed.assumed(numbers or (0,))}


def test_a_card_that_is_as_it_is_taken_to_be_passes_and_nothing_is_kept(
    sound: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    sound()
    cache = Cache.of_environment()
    assert cache is not None
    found = tried(0, 1)
    assert [str(check) for check in found.values() if not check.ok] == []
    assert list(found) == [
        "sizes npu:0", "batches at once npu:0", "sizes npu:0,1", "batches at once npu:0,1", "waiting npu:0",
    ]  # fmt: skip
    assert found["batches at once npu:0"].seen == "60 in 3 gears, 2 in flight, all of them right"
    assert found["batches at once npu:0,1"].seen == "120 in 3 gears, 4 in flight, all of them right"
    assert not cache.entries()


def test_sizes_that_are_no_rounding_any_more_are_told(sound: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    sound()
    mdl = sys.modules["acl"].mdl
    exact = mdl.get_input_size_by_index
    monkeypatch.setattr(mdl, "get_input_size_by_index", lambda desc, index: exact(desc, index) + 10_000)
    found = tried()
    assert not found["sizes npu:0"].ok
    assert "the compiled model has input 'a' of 10,112 bytes, the stage 112" in found["sizes npu:0"].seen
    assert list(found) == ["sizes npu:0", "waiting npu:0"]


def test_batches_that_disturb_each_other_are_told(sound: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    world = sound()
    run = Model.run

    def disturbed(self: Model, inputs: Any, outputs: Any) -> int:
        code = run(self, inputs, outputs)
        outputs[0].bytes[0] ^= bool(list(world.queues.pending))
        return code

    monkeypatch.setattr(Model, "run", disturbed)
    check = tried()["batches at once npu:0"]
    assert not check.ok
    assert check.seen == "30 of 60 batches have wrong answers, 2 in flight at once"
    assert check.fix.startswith("report it")


def test_a_call_that_a_card_refuses_while_another_batch_is_in_flight_is_told(sound: Install) -> None:
    sound().fail("mdl.get_cur_output_dims", 500001, at=2)
    check = tried()["batches at once npu:0"]
    assert not check.ok
    assert "acl.mdl.get_cur_output_dims failed with 500001" in check.seen


def test_an_atc_that_fails_is_told(sound: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    sound()
    monkeypatch.setenv("ATC_SIM", '{"fail": "E16002: No ONNX parser is registered for optype ai.onnx::13::Add"}')
    assert "E16002" in tried()["sizes npu:0"].seen


def test_a_wait_that_lasts_longer_is_no_failure_and_is_told(sound: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    sound()
    monkeypatch.setattr(assumed, "_waited", lambda card, stream, put: 0.97)
    check = tried()["waiting npu:0"]
    assert check.ok
    assert check.seen == "a wait lasts for 97% of what is put behind it, too: two streams may do better than one"
