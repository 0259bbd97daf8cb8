from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from drawings import shop

from pipeline import Plan
from pipeline.draw import Drawing, Times
from pipeline.draw.drawing import bytes_text
from pipeline.draw.times import Mean


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return shop(tmp_path_factory.mktemp("models")).compile(gears=(1, 2))


def test_a_plan_is_drawn_with_every_step_in_the_frame_of_its_stage(big: Plan) -> None:
    drawing = Drawing.of(big)
    frames = {box.name: box.frame for box in drawing.boxes if box.kind in ("host", "device")}
    assert frames == {step.name: stage.name for stage in big.stages for step in stage.steps}
    assert [frame.name for frame in drawing.frames] == [stage.name for stage in big.stages]
    assert {frame.lines for frame in drawing.frames} == {("host",), ("device", "gears 1,2")}


def test_a_wire_carries_dtype_shape_and_bytes_of_a_sample(big: Plan) -> None:
    wires = {wire.key: wire for wire in Drawing.of(big).wires}
    assert wires["photo"].label == "bytes"
    assert wires["photo"].nbytes == "size varies"
    assert (wires["letterbox.image"].label, wires["letterbox.image"].nbytes) == ("uint8[64,64,3]", "12.3 kB")
    assert wires["letterbox.transform"].targets == ("o:where",)


def test_a_constant_stands_in_each_frame_that_reads_it(big: Plan) -> None:
    drawing = Drawing.of(big)
    readers = {stage.name for stage in big.stages for step in stage.steps if "bank" in step.inputs}
    assert {box.frame for box in drawing.boxes if box.kind == "constant"} == readers
    assert len(readers) == 3


def test_a_value_that_nothing_reads_is_left_out(big: Plan) -> None:
    wires = {wire.key for wire in Drawing.of(big).wires}
    assert "top_k_2.scores" in wires
    assert "top_k_2.indices" not in wires


def test_stages_alone_are_what_an_export_has(big: Plan) -> None:
    drawing = Drawing.of_stages(big)
    assert [box.title for box in drawing.boxes if box.kind in ("host", "device")] == [
        stage.name for stage in big.stages
    ]
    assert not drawing.frames
    assert {wire.key for wire in drawing.wires} == {key for stage in big.stages for key, _ in stage.inputs} | {
        output.key for output in big.graph.outputs
    }


def test_the_times_of_a_trace_stand_at_nodes_and_stages(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile()
    times = Times({"scale": Mean(1234.5, 3)}, {"dense": Mean(87.04, 2)})
    drawing = Drawing.of(plan, times)
    assert {box.name: box.time for box in drawing.boxes if box.time} == {"scale": "1.23 ms"}
    assert {frame.name: frame.lines[-1] for frame in drawing.frames} == {"host0": "host", "dense": "87 µs a run"}
    assert "87 µs a run" in {box.time for box in Drawing.of_stages(plan, times).boxes}


@pytest.mark.parametrize(
    ("nbytes", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (151_000, "151 kB"), (2_100_000_000, "2.1 GB")]
)
def test_bytes_are_counted_in_thousands(nbytes: int, text: str) -> None:
    assert bytes_text(nbytes) == text
