from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
import tiny
from acl_sim import World
from ascend_cases import chain
from card import geared

from ge_engine.devices.ascend import library
from ge_engine.devices.ascend.card import Card
from ge_engine.devices.ascend.loaded import Loaded
from ge_engine.gears import Gear
from ge_engine.stage import StaticGraph
from ops import DeviceError, TensorSpec

ROW = TensorSpec("float32", (6,))  # of the model y = x + x in the gears 1, 2 and 4
IN, OUT = (("x", ROW),), (("y", ROW),)


@pytest.fixture
def opened(world: World) -> Iterator[Card]:
    card = Card(library.library(), 0)
    yield card
    assert not card.close()


def loaded(
    card: Card, path: str, inputs: object = IN, outputs: object = OUT, gears: tuple[int, ...] = (1, 2, 4)
) -> Loaded:
    graphs = {Gear(batch): StaticGraph(Gear(batch), path, (), ()) for batch in gears}
    with card.current():
        return Loaded(card, card.part(), graphs, inputs, outputs)  # type: ignore[arg-type]


def test_a_file_of_the_stage_is_taken(opened: Card, tmp_path: Path) -> None:
    model = loaded(opened, geared(tmp_path))
    assert (model.in_sizes, model.out_sizes) == ([96, 8], [96])
    assert model.gear_nbytes == 8


@pytest.mark.parametrize(
    ("inputs", "outputs", "gears", "message"),
    [
        ((("z", ROW),), OUT, (1, 2, 4), "inputs x, the stage z"),
        (IN, (*OUT, ("more", ROW)), (1, 2, 4), "1 outputs, the stage 2"),
        (IN, OUT, (4,), "gears, the stage 1"),
        ((("x", TensorSpec("int32", (6,))),), OUT, (1, 2, 4), "input 'x' as float32, the stage int32"),
        ((("x", TensorSpec("float32", (7,))),), OUT, (1, 2, 4), "input 'x' of 96 bytes, the stage 112"),
        (IN, (("y", TensorSpec("float32", (1000,))),), (1, 2, 4), "output 'y' of 96 bytes, the stage 16,000"),
        (IN, (("y", TensorSpec("bool", (6,))),), (1, 2, 4), "output 'y' as float32, the stage bool"),
        ((("x", TensorSpec("float32", (1000,))),), OUT, (1, 2, 4), "input 'x' of 96 bytes, the stage 16,000"),
    ],
)
def test_a_file_of_another_stage_is_refused(
    opened: Card, tmp_path: Path, inputs: object, outputs: object, gears: tuple[int, ...], message: str
) -> None:
    path = geared(tmp_path)
    with pytest.raises(DeviceError, match=f"the compiled model has {message}") as error:
        loaded(opened, path, inputs, outputs, gears)
    assert error.value.where == f"{path} on npu:0"
    assert error.value.fix.startswith("gepipe cache clear")


@pytest.mark.parametrize("step", [32, 512, 2048])
def test_a_model_that_rounds_the_sizes_of_its_tensors_up_has_room_for_them(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The simulator refuses buffers that overlap."""
    mdl = sys.modules["acl"].mdl
    for side in ("input", "output"):
        exact = getattr(mdl, f"get_{side}_size_by_index")
        rounded = partial(lambda exact, desc, index: -(-exact(desc, index) // step) * step + step, exact)
        monkeypatch.setattr(mdl, f"get_{side}_size_by_index", rounded)
    plan = chain(tmp_path).compile(gears=(1, 2, 4))
    samples = tiny.vectors(7)
    with plan.session() as session:
        wanted = session.run_batch(samples)
    with plan.session("npu:0") as session:
        assert all(map(tiny.same, session.run_batch(samples), wanted))


@pytest.mark.parametrize(("dims", "right"), [([1, 4], True), ([4], True), ([9], False)])
def test_how_much_each_output_holds_is_looked_at_when_a_gear_first_runs(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dims: list[int], right: bool
) -> None:
    monkeypatch.setattr(sys.modules["acl"].mdl, "get_cur_output_dims", lambda desc, index: ({"dims": dims}, 0))
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1,))
    wrong = pytest.raises(DeviceError, match=r"has output 'y' \[9\] in gear 1, the stage \[1, 4\]")
    with nullcontext() if right else wrong, plan.session("npu:0") as session:
        session.run(**tiny.vectors(1)[0])
