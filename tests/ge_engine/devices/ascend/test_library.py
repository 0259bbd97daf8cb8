from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tiny
from acl_sim import World
from acl_sim.fixtures import environment

from ge_engine.devices import AscendDevice, open_device
from ge_engine.devices.ascend import library
from ge_engine.devices.ascend.meanings import MEANINGS, meaning_of
from ops import DeviceError

ROOT = Path(__file__).parents[4]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No `acl`, and none that an earlier test has opened."""
    library.finalize()
    monkeypatch.setitem(sys.modules, "acl", None)
    return monkeypatch


@pytest.mark.parametrize("name", ["npu", "npu:0", "npu:0,1"])
def test_without_cann_the_remedy_is_the_toolkit_and_nothing_falls_back(without: pytest.MonkeyPatch, name: str) -> None:
    with pytest.raises(DeviceError, match="pyACL, CANN's Python module `acl`, cannot be imported") as error:
        open_device(name)
    assert "install the CANN toolkit that fits the card's driver" in error.value.fix
    assert "source /usr/local/Ascend/ascend-toolkit/set_env.sh" in error.value.fix
    assert error.value.__cause__ is not None


def test_another_module_of_that_name_is_told_by_its_place(without: pytest.MonkeyPatch) -> None:
    other = ModuleType("acl")
    other.__file__ = "/site-packages/acl.py"
    without.setitem(sys.modules, "acl", other)
    with pytest.raises(DeviceError, match=r"the module `acl` from /site-packages/acl.py is not pyACL") as error:
        open_device("npu:0")
    assert error.value.fix.startswith("uninstall that package")


def test_an_acl_that_cannot_begin_is_asked_again_the_next_time(world: World) -> None:
    world.fail("init", 507033)
    with pytest.raises(DeviceError, match=r"acl.init failed with 507033: the card could not be started"):
        open_device("npu:0")
    open_device("npu:0").close()


def test_a_card_that_does_not_say_what_it_is_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["acl"], "get_soc_name", lambda: None)
    with pytest.raises(DeviceError, match="does not say what the card is"):
        open_device("npu:0")


def test_an_acl_without_a_call_is_too_old(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["acl"].rt, "create_context")
    with pytest.raises(DeviceError, match=r"this pyACL has no acl.rt.create_context") as error:
        open_device("npu:0")
    assert error.value.fix == "use CANN 8.0 or later"


def _raises(*_: object) -> object:
    raise TypeError("it takes 2 arguments")


@pytest.mark.parametrize(
    ("call", "other", "message"),
    [
        ("create_context", _raises, "acl.rt.create_context raises TypeError: it takes 2 arguments"),
        ("create_context", lambda *_: 5, "acl.rt.create_context answers 5"),
        ("set_context", _raises, "acl.rt.set_context raises TypeError"),
    ],
)
def test_an_acl_whose_calls_are_others_is_told_as_that(
    world: World, monkeypatch: pytest.MonkeyPatch, call: str, other: object, message: str
) -> None:
    world.allow = True  # what cannot be called cannot take back
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["acl"].rt, call, other)
        with pytest.raises(DeviceError, match=message) as error:
            open_device("npu:0")
    assert error.value.fix.startswith("report it with the version of CANN")
    library._library = None


def test_a_machine_without_cards_says_so(card: object) -> None:
    card(devices=0)  # type: ignore[operator]
    with pytest.raises(DeviceError, match="there is no card 0: this machine has 0") as error:
        open_device("npu:0")
    assert error.value.fix == "look at npu-smi info"


def test_a_fork_of_a_process_that_has_a_card_open_is_refused(world: World) -> None:
    open_device("npu:0").close()
    parent = os.getpid()
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        try:
            open_device("npu:0")
        except DeviceError as error:
            os.write(writable, str(error).encode())
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    assert f"process {parent} has opened the NPU, and this is {child}, a fork of it" in told
    assert 'start processes by "spawn"' in told


def test_a_device_that_is_closed_loads_nothing(world: World, tmp_path: Path) -> None:
    device = open_device("npu:0")
    device.close()
    device.close()
    with pytest.raises(DeviceError, match="npu:0 is closed"):
        tiny.vector_pipeline(tmp_path).compile(gears=(1,)).session(device)


def test_what_a_card_refuses_to_take_back_is_told_when_all_else_is_done(world: World, tmp_path: Path) -> None:
    session = tiny.vector_pipeline(tmp_path).compile(gears=(1,)).session("npu:0")
    world.fail("mdl.unload", 507000, times=2)
    with pytest.raises(DeviceError, match=r"acl.mdl.unload failed with 507000"):
        session.close()
    assert not world.counts["rt.destroy_context"]  # with a model in it
    acl = sys.modules["acl"]
    (model,), (context,) = (
        [handle for handle, thing in world.handles.items() if type(thing).__name__ == kind]
        for kind in ("Model", "Context")
    )
    assert acl.rt.set_context(context) == 0
    assert acl.mdl.unload(model) == 0
    assert acl.rt.destroy_context(context) == 0


def test_each_meaning_says_what_to_do() -> None:
    assert all(meaning.text for meaning in MEANINGS.values())
    assert "look it up" in meaning_of(1).fix


def test_a_device_may_be_made_by_hand(world: World, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), streams=2)
    with plan.session(AscendDevice((1,), streams=2)) as session:
        assert session.device.name == "npu:1"
        session.run_batch(tiny.vectors(3))
    assert {span.device for span in world.timeline.of("run")} == {1}


SCRIPT = """
import itertools, sys
sys.path[:0] = ["tests/support"]
import pathlib, tiny
plan = tiny.vector_pipeline(pathlib.Path(sys.argv[1])).compile(gears=(1, 2, 4), streams=2)
session = plan.session("npu:0")
session.run_batch(tiny.vectors(3))
futures = [session.submit(**sample) for sample in tiny.vectors(20)]
futures[0].result()
print("ready", flush=True)
if sys.argv[2] == "forgets":
    sys.exit()
for _ in session.map(itertools.repeat(tiny.vectors(1)[0])):
    pass
"""


def start(folder: Path, how: str) -> tuple[subprocess.Popen[str], Path]:
    """A process of its own with the simulator as `acl`; and the file that tells what it left behind."""
    report = folder / "report.json"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), how],
        cwd=ROOT,
        env=environment(report=str(report)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process, report


@pytest.mark.parametrize("how", ["forgets", "is stopped"])
def test_a_process_that_ends_in_any_way_but_by_force_leaves_nothing_on_the_card(tmp_path: Path, how: str) -> None:
    process, report = start(tmp_path, how)
    if how != "forgets":
        process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == (0 if how == "forgets" else -signal.SIGINT), error
    found = json.loads(report.read_text())
    assert found["violations"] == []
    assert found["leaks"] == []
    assert found["counts"]["finalize"] == 1


def test_a_process_that_is_killed_leaves_the_next_one_all_it_needs(tmp_path: Path) -> None:
    for _ in range(2):
        process, _ = start(tmp_path, "runs on")
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
