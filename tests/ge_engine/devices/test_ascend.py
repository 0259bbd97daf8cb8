from __future__ import annotations

import itertools
import json
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tiny
from acl_sim import World
from acl_sim.fixtures import put_atc_on_path
from ascend_cases import CASES, GEARS, ROOT, samples
from frozen_graphs import dense_graph
from onnx_files import node, save, tensor
from tiny_ops import Columns
from weights import laid_out

import ops
from ge_engine import Model
from ge_engine.devices import open_device
from ge_engine.engine import Engine
from ops import DeviceError, TensorSpec
from pipeline import Pipeline, Plan
from pipeline.load import load
from pipeline.triton.config import parse


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Plan]:
    name: str = request.param
    return name, CASES[name](tmp_path_factory.mktemp(name)).compile(gears=GEARS, streams=1)


@pytest.mark.parametrize("streams", [1, 2, 4])
def test_answers_are_those_of_the_cpu(world: World, tmp_path: Path, case: tuple[str, Plan], streams: int) -> None:
    name, built = case
    plan = CASES[name](tmp_path).compile(gears=GEARS, streams=streams)
    given = samples(name, 11)
    with built.session() as session:
        wanted = session.run_batch(given)
    with plan.session("npu:0") as session:
        for got in (session.run_batch(given), list(session.map(given))):
            assert all(map(tiny.same, got, wanted))


def test_a_batch_is_one_transfer_in_and_one_out_and_allocates_nothing(world: World, case: tuple[str, Plan]) -> None:
    name, plan = case
    with plan.session("npu:0") as session:
        given = samples(name, 8)
        session.run_batch(given)
        before = world.counts.copy()
        for _ in range(3):
            session.run_batch(given)
        made = world.counts - before
    assert made["mdl.execute_async"]
    assert made["rt.memcpy_async"] == 2 * made["mdl.execute_async"]
    assert not made["rt.malloc"]
    assert not made["rt.malloc_host"]
    assert not world.counts["pageable memcpy_async"]


def in_turn(world: World, plan: Plan, streams: int, rounds: int = 8) -> None:
    """A thread for each lane, as in a session under load. They take turns, so that it is the same each time."""
    with closing(open_device("npu:0", streams=streams)) as device:
        lanes = [device.stream(index) for index in range(2 * streams)]
        engine = Engine(next(iter(plan.built.values())), device, slots=len(lanes), largest=8)
        together, turns = threading.Barrier(len(lanes)), [threading.Event() for _ in lanes]

        def work(index: int) -> None:
            world.host_work(0)  # its clock begins
            together.wait()
            for _ in range(rounds):
                turns[index].wait()
                turns[index].clear()
                engine.enqueue(index, 8, lanes[index])
                lanes[index].synchronize()
                turns[(index + 1) % len(turns)].set()

        threads = [threading.Thread(target=work, args=(index,)) for index in range(len(lanes))]
        for thread in threads:
            thread.start()
        turns[0].set()
        for thread in threads:
            thread.join()
        engine.close()


@pytest.mark.parametrize("streams", [1, 2, 4])
def test_copies_go_on_while_other_batches_compute(world: World, tmp_path: Path, streams: int) -> None:
    in_turn(world, CASES["yolo"](tmp_path).compile(gears=GEARS), streams)
    timeline = world.timeline
    copied = sum(span.end - span.start for span in timeline.of("h2d", "d2h"))
    assert timeline.overlap("h2d", "run") + timeline.overlap("d2h", "run") > 0.8 * copied


def test_a_stream_computes_without_a_pause(world: World, tmp_path: Path) -> None:
    """Two lanes take turns: the next run is there before the last one ends."""
    in_turn(world, CASES["yolo"](tmp_path).compile(gears=GEARS), streams=1)
    runs = world.timeline.of("run")
    assert all(later.start - run.end < 1 for run, later in itertools.pairwise(runs[1:]))


def test_several_cards_share_the_work(card: object, tmp_path: Path) -> None:
    world: World = card(devices=3)  # type: ignore[operator]
    plan = CASES["chain"](tmp_path).compile(gears=(2,), device_ids=(0, 2))
    with plan.session("npu") as session:
        assert session.device.name == "npu:0,2"
        list(session.map(samples("chain", 64)))
    runs = [span.device for span in world.timeline.of("run")]
    assert set(runs) == {0, 2}
    assert min(runs.count(0), runs.count(2)) > len(runs) / 4


def test_sizes_run_as_gears_of_one_model(world: World, tmp_path: Path) -> None:
    plan = tiny.sized_pipeline(tmp_path).compile(streams=2)
    given = tiny.pictures(9)
    with plan.session() as session:
        wanted = session.run_batch(given)
    with plan.session("npu:0") as session:
        assert all(map(tiny.same, session.run_batch(given), wanted))
        assert all(map(tiny.same, session.map(given), wanted))
    assert world.counts["mdl.load_from_file"] == 2
    assert world.counts["mdl.set_input_dynamic_dims"]


def test_sizes_of_several_inputs_are_told_in_their_order(world: World, tmp_path: Path) -> None:
    """One of four dims and one of two, which share a size."""
    nodes = [
        node("Cast", ["columns"], ["c"], to=1),
        node("Unsqueeze", ["c", "axes"], ["u"]),
        node("Mul", ["x", "u"], ["m"]),
        node("ReduceMean", ["m"], ["y"], axes=[2, 3], keepdims=0),
    ]
    inputs = [tensor("x", ("batch", 3, "h", "w")), tensor("columns", ("batch", "w"), np.int64)]
    save(tmp_path / "two.onnx", nodes, inputs, [tensor("y", ("batch", 3))], {"axes": np.int64([1, 2])})
    pipeline = Pipeline("two")
    image, _ = ops.Letterbox(sizes=((32, 32), (32, 16), (16, 48)))(
        pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    )
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tmp_path / "two.onnx")(x, Columns()(image)))
    plan = pipeline.compile()
    (stage,) = plan.built.values()
    assert sorted(len(spec.shape) for _, spec in stage.graph.inputs) == [1, 3]
    given = tiny.pictures(6)
    with plan.session() as session:
        wanted = session.run_batch(given)
    with plan.session("npu:0") as session:
        assert all(map(tiny.same, session.run_batch(given), wanted))
    assert world.counts["mdl.set_input_dynamic_dims"] >= 6


def test_a_batch_of_fixed_size_has_no_gears(world: World, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(4,))
    given = tiny.vectors(6)
    with plan.session() as session:
        wanted = session.run_batch(given)
    with plan.session("npu:0") as session:
        assert all(map(tiny.same, session.run_batch(given), wanted))
    assert not world.counts["mdl.set_dynamic_batch_size"]


@pytest.mark.parametrize("streams", [1, 4])
def test_yolo11_itself_gives_its_boxes_by_one_transfer_in_and_one_out_a_batch(world: World, streams: int) -> None:
    jpegs = [laid_out(f"examples/yolo11/weights/{name}.jpg").read_bytes() for name in ("bus", "zidane")]
    plan = load(str(ROOT / "examples/yolo11/graph.py")).compile(gears=GEARS, streams=streams)
    given = [{"image": data} for data in (*jpegs, *jpegs, jpegs[0])]
    with plan.session() as session:
        bus, zidane = session.run_batch(given[:2])
    wanted = [bus, zidane, bus, zidane, bus]
    with plan.session("npu:0") as session:
        session.run_batch(given[:1])
        before = dict(world.counts)
        assert all(map(tiny.same, session.run_batch(given), wanted))
        made = {call: world.counts[call] - before.get(call, 0) for call in world.counts}
        assert made["rt.memcpy_async"] == 2 * made["mdl.execute_async"] > 0
        assert made["rt.malloc"] == made["rt.malloc_host"] == 0
        assert all(map(tiny.same, session.map(given), wanted))
    assert [len(answer["boxes"]) for answer in wanted[:2]] == [5, 3]


def test_each_queue_has_a_copy_of_the_model_and_two_lanes(world: World, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=GEARS, streams=4)
    with plan.session("npu:0"):
        assert world.counts["mdl.load_from_file"] == 4
        assert world.counts["rt.create_stream"] == 4 + 8
        assert world.counts["rt.create_context"] == 1


def test_a_lease_writes_into_pinned_memory_that_the_card_reads(world: World, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=GEARS)
    with plan.session("npu:0") as session, session.lease() as context:
        context.inputs["scale"][:3] = 1
        context.run(3)
        address = context.inputs["scale"].ctypes.data
        block = world.memory.find(address)
        assert block is not None
        assert block.device is None
        assert address % 64 == 0


def test_acl_that_somebody_else_initialised_is_shared_and_left_alone(card: object, tmp_path: Path) -> None:
    world: World = card(shared=True)  # type: ignore[operator]
    import acl  # type: ignore[import-not-found]  # the simulator's

    assert acl.rt.set_device(0) == 0
    theirs, _ = acl.rt.get_context()
    with tiny.vector_pipeline(tmp_path).compile(gears=GEARS).session("npu:0") as session:
        session.run_batch(tiny.vectors(3))
        assert acl.rt.get_context() == (theirs, 0)
    assert acl.rt.get_context() == (theirs, 0)
    assert acl.rt.reset_device(0) == 0
    assert not world.counts["finalize"]


def test_a_thread_without_a_context_has_none_of_ours_back_after_the_card_is_closed(
    card: object, tmp_path: Path
) -> None:
    world: World = card(shared=True)  # type: ignore[operator]
    with tiny.vector_pipeline(tmp_path).compile(gears=GEARS).session("npu:0") as session:
        session.run_batch(tiny.vectors(3))
    assert not world.violations
    assert not world.leaks()


def test_two_sessions_of_one_process_share_acl(world: World, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=GEARS)
    with plan.session("npu:0") as one:
        with plan.session("npu:1") as other:
            assert tiny.same(one.run(**tiny.vectors(1)[0]), other.run(**tiny.vectors(1)[0]))
        one.run(**tiny.vectors(1)[0])
    with plan.session("npu:0") as again:
        again.run(**tiny.vectors(1)[0])
    assert world.counts["init"] == 1


def test_a_session_that_nobody_closes_gives_the_card_back(world: World, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=GEARS)
    session = plan.session("npu:0")
    session.run_batch(tiny.vectors(3))
    del session
    assert not world.leaks()


@pytest.mark.parametrize(
    ("name", "match", "fix"),
    [
        ("npu:2", "there is no card 2: this machine has 2", "use npu:0 or npu:1"),
        ("npu:0,0", "names a card twice", "name each once"),
        ("npu:x", "there is no device 'npu:x'", 'as "npu:0,1"'),
    ],
)
def test_cards_that_are_not_there_are_refused(world: World, name: str, match: str, fix: str) -> None:
    with pytest.raises(DeviceError, match=match) as error:
        open_device(name)
    assert fix in error.value.fix


def test_many_threads_may_run_at_once(world: World, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=GEARS, streams=2)
    given = tiny.vectors(5)
    with plan.session() as session:
        wanted = session.run_batch(given)
    wrong: list[object] = []
    with plan.session("npu:0") as session:

        def work() -> None:
            for _ in range(5):
                wrong.extend(a for a, b in zip(session.run_batch(given), wanted) if not tiny.same(a, b))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_precision_and_cores_of_the_deployment_reach_the_compiler(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "atc.log"
    put_atc_on_path(monkeypatch, log=str(log))
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), precision={"dense": "fp16"}, cores="12|10")
    with plan.session("npu:0"):
        pass
    (line,) = map(json.loads, log.read_text().splitlines())
    assert {"--precision_mode_v2=fp16", "--aicore_num=12|10", f"--soc_version={world.soc}"} <= set(line)


@pytest.mark.parametrize("name", ["chain", "sized"])
def test_gears_are_told_to_atc_as_an_export_tells_them(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    log = tmp_path / "atc.log"
    put_atc_on_path(monkeypatch, log=str(log))
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    pipeline = tiny.sized_pipeline(tmp_path) if name == "sized" else CASES[name](tmp_path)
    plan = pipeline.compile(gears=(1, 2, 3))
    plan.export(tmp_path / "repository")
    configs = [parse(path.read_text(), "24.02") for path in (tmp_path / "repository").glob("*/config.pbtxt")]
    options = [{key: value.string_value for key, value in config.parameters.items()} for config in configs]
    exported = sorted(
        (_dims(option["graph.ge.inputShape"]), option["graph.ge.dynamicDims"])
        for option in options
        if "graph.ge.inputShape" in option
    )
    with plan.session("npu:0"):
        pass
    told = []
    for line in map(json.loads, log.read_text().splitlines()):
        flags = dict(flag.removeprefix("--").split("=", 1) for flag in line)
        batches = flags.get("dynamic_batch_size", "").replace(",", ";")
        told.append((_dims(flags["input_shape"]), flags.get("dynamic_dims") or batches))
    assert sorted(told) == exported


def _dims(shapes: str) -> str:
    """Without the names, which are others in a server."""
    return ";".join(shape.partition(":")[2] for shape in shapes.split(";"))


def test_a_tensorflow_graph_is_refused(world: World, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    pipeline = Pipeline("dense")
    x = pipeline.input("x", TensorSpec("float32", (8,)))
    pipeline.output(y=Model(str(dense_graph(tmp_path / "m.pb")))(x))
    with pytest.raises(DeviceError, match="stage 'm' is a TensorFlow graph, which only npu_ge runs on a card"):
        pipeline.compile().session("npu:0")
