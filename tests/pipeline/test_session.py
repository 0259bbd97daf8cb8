from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tiny

import ops
from ge_engine import Model
from ge_engine.devices import NullDevice
from ge_engine.devices.null import Compute
from ops import Array, DeviceError, GepipeError, OpError, SampleError, TensorSpec
from pipeline import Pipeline, Plan, Session

GEARS = (1, 2, 4, 8)


def same(a: Any, b: Any) -> bool:
    assert isinstance(a, dict), a
    assert isinstance(b, dict), b
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() for key in a)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=GEARS, streams=2)


@pytest.fixture
def sized(tmp_path: Path) -> Plan:
    pipeline = Pipeline("sized")
    pixels = pipeline.input("image", TensorSpec("uint8", ("H", "W", 3)))
    image, transform = ops.Letterbox(sizes=((32, 32), (32, 16), (16, 48)))(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(x), transform=transform)
    return pipeline.compile(gears=GEARS, streams=2)


def pictures(count: int) -> list[dict[str, Array]]:
    rng = np.random.default_rng(3)
    shapes = [(40, 40, 3), (64, 30, 3), (20, 64, 3), (7, 7, 3)]
    return [{"image": rng.integers(0, 256, shapes[i % 4], dtype=np.uint8)} for i in range(count)]


# ---- gears


def test_a_batch_of_any_size_equals_single_runs_byte_for_byte(plan: Plan) -> None:
    samples = tiny.vectors(20)
    with plan.session() as session:
        solo = [session.run(**sample) for sample in samples]
        for n in range(21):
            answers = session.run_batch(samples[:n])
            assert len(answers) == n
            assert all(same(answer, wanted) for answer, wanted in zip(answers, solo))


def test_the_answer_is_onnx_runtimes_own(plan: Plan, tmp_path: Path) -> None:
    (sample,) = tiny.vectors(1)
    reference = onnxruntime.InferenceSession(tiny.vector_model(tmp_path), providers=["CPUExecutionProvider"])
    (want,) = reference.run(None, {"x": 2 * sample["x"][None]})
    with plan.session() as session:
        np.testing.assert_allclose(session.run(**sample)["y"], want[0], rtol=1e-6)


def test_sizes_are_grouped_and_answered_in_order(sized: Plan) -> None:
    samples = pictures(20)
    with sized.session() as session:
        solo = [session.run(**sample) for sample in samples]
        for n in range(21):
            answers = session.run_batch(samples[:n])
            assert len(answers) == n
            assert all(same(a, b) for a, b in zip(answers, solo))


def test_a_users_op_without_a_gear_method_is_grouped_by_what_it_made(tmp_path: Path) -> None:
    pipeline = Pipeline("cut")
    image = tiny.Resized(((32, 32), (16, 16)))(pipeline.input("image", TensorSpec("uint8", ("H", "W", 3))))
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(x))
    samples = [{"image": p["image"][:size, :size].copy()} for p, size in zip(pictures(8), (40, 20, 33, 16) * 2)]
    samples = [sample for sample in samples if min(sample["image"].shape[:2]) >= 16]
    with pipeline.compile(gears=(1, 4)).session() as session:
        solo = [session.run(**sample) for sample in samples]
        assert all(same(a, b) for a, b in zip(session.run_batch(samples), solo))


@pytest.mark.parametrize("kind", ["batch gears", "size gears"])
def test_four_threads_on_two_streams_get_their_solo_answers(plan: Plan, sized: Plan, kind: str) -> None:
    chosen, samples = (plan, tiny.vectors(20)) if kind == "batch gears" else (sized, pictures(20))
    with chosen.session() as session:
        solo = [session.run(**sample) for sample in samples]

        def work(seed: int) -> bool:
            rng = np.random.default_rng(seed)
            fine = True
            for _ in range(40):
                picked = rng.integers(0, 20, rng.integers(0, 12)).tolist()
                answers = session.run_batch([samples[i] for i in picked])
                fine &= all(same(answer, solo[i]) for answer, i in zip(answers, picked))
            return fine

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(work, range(4)))


def test_two_alternating_samples_never_leak_into_each_other(sized: Plan) -> None:
    a, b = pictures(2)
    with sized.session() as session:
        solo = {"a": session.run(**a), "b": session.run(**b)}

        def alternate(first: bool) -> bool:
            fine = True
            for round_ in range(50):
                name, sample = ("a", a) if (round_ % 2 == 0) == first else ("b", b)
                fine &= same(session.run(**sample), solo[name])
            return fine

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(alternate, (True, False, True, False)))


# ---- padding


def static_graphs(plan: Plan) -> Compute:
    """What an accelerator computes: the graph of the very gear, padding and all."""
    (built,) = plan.built.values()
    sessions = {
        tuple(shape for _, _, shape in static.inputs): onnxruntime.InferenceSession(
            static.path, providers=["CPUExecutionProvider"]
        )
        for static in built.static.values()
    }

    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        session = sessions[tuple(array.shape for array in inputs.values())]
        for array, result in zip(outputs.values(), session.run(list(outputs), dict(inputs))):
            array[:] = result

    return compute


@pytest.mark.parametrize("kind", ["batch gears", "size gears"])
def test_a_device_that_pads_and_runs_the_static_graphs_gives_the_answers_of_the_cpu(
    plan: Plan, sized: Plan, kind: str
) -> None:
    chosen, samples = (plan, tiny.vectors(20)) if kind == "batch gears" else (sized, pictures(20))
    with chosen.session() as cpu, chosen.session(NullDevice(compute=static_graphs(chosen))) as padding:
        solo = [cpu.run(**sample) for sample in samples]
        for n in range(21):
            assert all(same(answer, wanted) for answer, wanted in zip(padding.run_batch(samples[:n]), solo))


@pytest.mark.parametrize("filler", [0.0, 255.0, float("nan")])
def test_padding_rows_do_not_change_real_rows_on_a_device_that_pads(plan: Plan, filler: float) -> None:
    rows = np.stack([sample["x"] for sample in tiny.vectors(3)])
    with plan.session(NullDevice(compute=static_graphs(plan))) as session, session.lease() as context:
        context.inputs["scale"][:3] = rows
        context.inputs["scale"][3:] = 0
        context.run(3)
        want = context.outputs["y"][:3].copy()
        context.inputs["scale"][3:] = filler
        context.run(3)
        assert context.outputs["y"][:3].tobytes() == want.tobytes()


@pytest.mark.parametrize("filler", [0.0, 255.0, float("nan")])
def test_padding_rows_do_not_change_real_rows_in_any_static_graph(plan: Plan, filler: float) -> None:
    (built,) = plan.built.values()
    rows = np.stack([sample["x"] for sample in tiny.vectors(8)])
    for gear, static in built.static.items():
        alone = onnxruntime.InferenceSession(static.path, providers=["CPUExecutionProvider"])
        padded = rows[: gear.batch].copy()
        (want,) = alone.run(None, {"scale": padded})
        for n in range(1, gear.batch):
            padded[n:] = filler
            (got,) = alone.run(None, {"scale": padded})
            padded[:] = rows[: gear.batch]
            assert got[:n].tobytes() == want[:n].tobytes()


def test_each_static_graph_alone_gives_the_sessions_answer(plan: Plan) -> None:
    (built,) = plan.built.values()
    samples = tiny.vectors(8)
    with plan.session() as session:
        for gear, static in built.static.items():
            alone = onnxruntime.InferenceSession(static.path, providers=["CPUExecutionProvider"])
            rows = np.stack([2 * sample["x"] for sample in samples[: gear.batch]])
            (want,) = alone.run(None, {"scale": rows})
            answers = session.run_batch(samples[: gear.batch])
            assert all(
                isinstance(answer, dict) and answer["y"].tobytes() == row.tobytes()
                for answer, row in zip(answers, want)
            )


def test_a_model_that_mixes_rows_is_never_padded_or_merged(tmp_path: Path) -> None:
    pipeline = Pipeline("mixing")
    pipeline.output(y=Model(tiny.mixing_model(tmp_path))(pipeline.input("x", tiny.VECTOR)))
    plan = pipeline.compile(gears=GEARS)
    assert any("mix" in finding.message for finding in plan.findings)
    sizes: list[int] = []

    def note(inputs: Any, outputs: Any) -> None:
        sizes.append(len(inputs["x"]))

    with plan.session(NullDevice(pads=True, compute=note)) as session:
        sizes.clear()
        session.run_batch(tiny.vectors(5))
        assert sizes == [1, 1, 1, 1, 1]
    with plan.session() as session:
        samples = tiny.vectors(5)
        solo = [session.run(**sample) for sample in samples]
        assert all(same(a, b) for a, b in zip(session.run_batch(samples), solo))


def test_a_row_that_a_bad_sample_half_wrote_is_zero_when_it_becomes_padding(tmp_path: Path) -> None:
    pipeline = Pipeline("halfway")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(tiny.Halfway()(pipeline.input("x", tiny.VECTOR))))
    seen: list[Array] = []

    def note(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        seen.append(inputs["halfway"].copy())

    samples = tiny.vectors(4)
    samples[3]["x"][0] = -1000
    with pipeline.compile(gears=(4,)).session(NullDevice(compute=note)) as session:
        seen.clear()
        answers = session.run_batch(samples)
    assert isinstance(answers[3], OpError)
    (rows,) = seen
    assert rows[:3].tolist() == [sample["x"].tolist() for sample in samples[:3]]
    assert not rows[3].any()


def test_on_the_cpu_n_samples_run_as_n(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    with plan.session() as session:
        for n in (3, 5, 7):
            session.run_batch(tiny.vectors(n))
    assert watch.batches == [3, 5, 7]


def test_a_larger_batch_is_split_by_what_each_gear_costs(plan: Plan) -> None:
    sizes: list[int] = []

    def note(inputs: Any, outputs: Any) -> None:
        sizes.append(len(inputs["scale"]))

    def steep(n: int) -> float:
        return 20_000 if n > 2 else 100

    with plan.session(NullDevice(pads=True, time_us=steep, compute=note)) as session:
        sizes.clear()
        session.run_batch(tiny.vectors(5))
    assert sizes == [2, 2, 1]


# ---- zero copy


class Watch:
    """The addresses that ONNX Runtime was given for inputs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bound: dict[int, str] = {}
        self.batches: list[int] = []
        bind = onnxruntime.IOBinding.bind_input

        def watched(binding: Any, name: str, *args: Any) -> Any:
            self.bound[args[-1]] = name
            self.batches.append(args[-2][0])
            return bind(binding, name, *args)

        monkeypatch.setattr(onnxruntime.IOBinding, "bind_input", watched)


def test_the_address_that_the_last_host_op_wrote_is_the_address_that_is_bound(
    plan: Plan, sized: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    scale_run, letterbox_run = tiny.Scale.run, ops.Letterbox.run

    def scale(self: Any, x: Array, out: Any = None) -> Array:
        written.append(out.ctypes.data)
        return scale_run(self, x, out)

    def letterbox(self: Any, image: Array, out: Any = None) -> Any:
        written.append(out["image"].ctypes.data)
        return letterbox_run(self, image, out)

    monkeypatch.setattr(tiny.Scale, "run", scale)
    monkeypatch.setattr(ops.Letterbox, "run", letterbox)
    for chosen, samples, sizes in ((plan, tiny.vectors(8), GEARS), (sized, pictures(1) * 8, (1, 3))):
        watch = Watch(monkeypatch)
        with chosen.session() as session:
            for n in sizes:
                # Every set of buffers in turn: hold the others.
                for held in range(3):
                    written.clear()
                    with _held(session, held):
                        session.run_batch(samples[:n])
                    rows = len(samples[0].get("x", ())) * 4 or written[1] - written[0] if n > 1 else 0
                    assert written[0] in watch.bound
                    assert written == [written[0] + row * rows for row in range(n)]


class _held:  # noqa: N801  # reads as a word
    """Hold some execution contexts in other threads, so that the next call takes another one."""

    def __init__(self, session: Session, count: int) -> None:
        self.session = session
        self.release = threading.Event()
        self.ready = threading.Semaphore(0)
        self.threads = [threading.Thread(target=self._hold) for _ in range(count)]

    def _hold(self) -> None:
        with self.session._slot():
            self.ready.release()
            self.release.wait(30)

    def __enter__(self) -> None:
        for thread in self.threads:
            thread.start()
            assert self.ready.acquire(timeout=30)

    def __exit__(self, *exc: object) -> None:
        self.release.set()
        for thread in self.threads:
            thread.join(30)


def test_only_the_callers_arrays_and_small_results_are_copied(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session:
        session.run_batch(tiny.vectors(5))
        assert session.copies == (5, 0, 5 * 4 * 4)  # Scale wrote in place; y leaves the buffer
    pipeline = Pipeline("direct")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile(gears=(1, 4)).session() as session:
        session.run_batch(tiny.vectors(5))
        assert session.copies == (5, 5 * 8 * 4, 5 * 4 * 4)  # the caller's x into the buffer


def test_a_result_is_unchanged_after_100_later_calls(plan: Plan) -> None:
    samples = tiny.vectors(101)
    with plan.session() as session:
        first = session.run(**samples[0])
        before = {key: value.copy() for key, value in first.items()}
        for sample in samples[1:]:
            session.run(**sample)
        assert same(first, before)
    assert first["y"].flags.owndata


def test_a_result_is_never_the_callers_own_array() -> None:
    pipeline = Pipeline("same")
    pipeline.output(y=tiny.Same()(pipeline.input("x", tiny.VECTOR)))
    (sample,) = tiny.vectors(1)
    with pipeline.compile().session() as session:
        answer = session.run(**sample)["y"]
    assert answer is not sample["x"]
    assert not np.shares_memory(answer, sample["x"])


# ---- wrong samples


class Unreadable(dict[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("gone")


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"x": np.zeros(8)}, r"input 'x' \(.*tiny\.py:\d+\): float64\[8\], wanted float32\[8\]"),
        ({}, "no value for input 'x'"),
        ({"x": np.zeros(1, np.float32)}, r"float32\[1\], wanted float32\[8\]"),
        ({"x": np.zeros((1, 8), np.float32)}, "no batch axis"),
        ({"x": np.zeros(8, np.float32), "z": 1}, "there is no input 'z'"),
        ({"y": np.zeros(8, np.float32)}, "there is no input 'y'"),
        ({"x": [0.0] * 8}, "a list, wanted"),
        ({"x": None}, "a NoneType, wanted"),
        (7, "a sample is a int"),
        (Unreadable(x=1), "the sample cannot be read: RuntimeError: gone"),
    ],
)
def test_a_wrong_sample_fails_alone_with_a_clear_error(plan: Plan, sample: Any, message: str) -> None:
    good = tiny.vectors(2)
    with plan.session() as session:
        answers = session.run_batch([good[0], sample, good[1]])
        assert isinstance(answers[1], SampleError)
        with pytest.raises(SampleError, match=message):
            raise answers[1]
        assert same(answers[0], session.run(**good[0]))
        assert same(answers[2], session.run(**good[1]))


def test_a_sample_that_fails_the_device_fails_alone(tmp_path: Path) -> None:
    pipeline = Pipeline("ids")
    pipeline.output(y=Model(tiny.gather_model(tmp_path))(pipeline.input("ids", TensorSpec("int64", (4,)))))
    samples = [
        {"ids": np.array(row)} for row in ([1, 2, 3, 4], [1, 2, 3, 99], [5, 6, 7, 8], [-99, 0, 0, 0], [9, 9, 9, 9])
    ]
    with pipeline.compile(gears=(1, 8)).session() as session:
        answers = session.run_batch(samples)
        solo = [session.run_batch([sample])[0] for sample in samples]
    for index, (answer, alone) in enumerate(zip(answers, solo)):
        if index in (1, 3):
            assert isinstance(answer, DeviceError)
            assert "stage 'gather', gear 1, stream 0 of cpu" in str(answer)
        else:
            assert same(answer, alone)


def test_text_that_has_no_utf8_form_fails_alone() -> None:
    pipeline = Pipeline("text")
    pipeline.output(size=tiny.Length()(pipeline.input("text", ops.TEXT)))
    with pipeline.compile().session() as session:
        answers = session.run_batch([{"text": "好"}, {"text": "\ud800"}, {"text": b"ok"}])
    assert isinstance(answers[1], SampleError)
    assert "no UTF-8 form" in str(answers[1])
    assert [answers[0]["size"].tolist(), answers[2]["size"].tolist()] == [[3], [2]]  # type: ignore[index]


def test_an_input_may_have_any_name_that_a_parameter_has() -> None:
    pipeline = Pipeline("named")
    pipeline.output(y=tiny.Scale(2.0)(pipeline.input("self", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        assert session.run(self=np.ones(8, np.float32))["y"].tolist() == [2.0] * 8


def test_a_strided_sample_is_copied_once_and_counted(tmp_path: Path) -> None:
    wide = np.arange(16, dtype=np.float32)
    pipeline = Pipeline("direct")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        session.run(x=wide[::2])
        assert session.copies.nbytes_in == 8 * 4  # into the buffer
    host = Pipeline("host")
    host.output(y=tiny.Scale(1.0)(host.input("x", tiny.VECTOR)))
    with host.compile().session() as session:
        assert session.run(x=wide[::2])["y"].tolist() == wide[::2].tolist()
        assert session.copies.nbytes_in == 8 * 4  # into one piece


@pytest.mark.parametrize("samples", [{"x": np.zeros(8, np.float32)}, b"bytes", "text"])
def test_one_sample_given_as_a_batch_is_refused(plan: Plan, samples: Any) -> None:
    with plan.session() as session, pytest.raises(SampleError, match="run_batch was given one"):
        session.run_batch(samples)


def test_what_a_sample_wrote_in_place_outlives_the_failure_of_its_neighbour(tmp_path: Path) -> None:
    pipeline = Pipeline("ids")
    ids = ops.Cast("int64")(pipeline.input("numbers", TensorSpec("int32", (4,))))  # an output too: on the host
    pipeline.output(ids=ids, y=Model(tiny.gather_model(tmp_path))(ids))
    rows = ([1, 2, 3, 4], [1, 2, 3, 99], [5, 6, 7, 8])
    with pipeline.compile(gears=(1, 4)).session() as session:
        answers = session.run_batch([{"numbers": np.array(row, np.int32)} for row in rows])
    assert isinstance(answers[1], DeviceError)
    assert [answers[i]["ids"].tolist() for i in (0, 2)] == [rows[0], rows[2]]  # type: ignore[index]


def test_an_op_that_fails_names_its_node_and_keeps_the_cause(tmp_path: Path) -> None:
    pipeline = Pipeline("picky")
    pipeline.output(y=tiny.Picky()(pipeline.input("x", tiny.VECTOR)))
    samples = tiny.vectors(3)
    samples[1]["x"][0] = -1000
    with pipeline.compile().session() as session:
        answers = session.run_batch(samples)
    assert isinstance(answers[0], dict)
    assert isinstance(answers[2], dict)
    wanted = r"node 'picky' \(Picky, .*test_session.py:\d+\): ValueError: too small \(.*tiny_ops\.py:\d+\)"
    with pytest.raises(OpError, match=wanted) as error:
        raise answers[1]
    assert isinstance(error.value.__cause__, ValueError)


# ---- lease, close


def test_a_lease_is_the_device_stages_own_buffers(plan: Plan) -> None:
    samples = tiny.vectors(2)
    with plan.session() as session:
        solo = session.run_batch(samples)
        with session.lease() as context:
            for row, sample in enumerate(samples):
                context.inputs["scale"][row] = 2 * sample["x"]
            context.run(2)
            assert [row.tobytes() for row in context.outputs["y"][:2]] == [a["y"].tobytes() for a in solo]  # type: ignore[index]
        with pytest.raises(SampleError, match="the lease is over"):
            context.run(1)


def test_a_lease_of_what_is_not_there_says_what_is(plan: Plan, sized: Plan) -> None:
    with plan.session() as session:
        with pytest.raises(SampleError, match="no device stage 'densee'") as error, session.lease("densee"):
            pass
        assert "did you mean 'dense'" in str(error.value)
        with session.lease() as context, pytest.raises(SampleError, match="run 1 to 8 rows"):
            context.run(9)
    wanted = pytest.raises(SampleError, match=r"the sizes are \(32, 32\), \(32, 16\)")
    with sized.session() as session, wanted, session.lease(size=(1, 1)):
        pass


def test_a_thread_that_holds_every_context_is_told_instead_of_waiting_for_itself(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    refused = pytest.raises(DeviceError, match="holds all execution contexts")
    with plan.session() as session, session.lease(), session.lease(), session.lease(), refused:
        session.run(**sample)


def test_a_closed_session_refuses_and_waits_for_work_in_flight(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    session = plan.session()
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with session.lease() as context:
            entered.set()
            leave.wait(30)
            context.run(1)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(30)
    closer = threading.Thread(target=session.close)
    closer.start()
    with pytest.raises(DeviceError, match="the session is closed"):  # noqa: PT012  # until close has begun
        while True:
            session.run(**sample)
    assert closer.is_alive()
    leave.set()
    closer.join(30)
    holder.join(30)
    assert not closer.is_alive()
    with pytest.raises(DeviceError, match="the session is closed"):
        session.run(**sample)
    session.close()


def test_closing_inside_a_lease_is_refused(plan: Plan) -> None:
    with plan.session() as session, session.lease(), pytest.raises(GepipeError, match="closed inside a lease"):
        session.close()


# ---- shapes of pipelines


def test_two_models_and_shared_parents_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    run = tiny.Scale.run

    def count(self: Any, x: Array, out: Any = None) -> Array:
        runs.append(1)
        return run(self, x, out)

    monkeypatch.setattr(tiny.Scale, "run", count)
    pipeline = Pipeline("two")
    shared = tiny.Scale(0.5)(pipeline.input("x", tiny.VECTOR))
    a = Model(tiny.vector_model(tmp_path, "a", seed=1))(shared)
    b = Model(tiny.vector_model(tmp_path, "b", seed=2))(shared)
    pipeline.output(a=a, b=b, likeness=ops.Similarity()(a, b))
    plan = pipeline.compile(gears={"a": (1, 2), "b": (1, 4)})
    assert [stage.name for stage in plan.stages] == ["host0", "a", "b", "host2"]
    samples = tiny.vectors(7)
    with plan.session() as session:
        solo = [session.run(**sample) for sample in samples]
        runs.clear()
        answers = session.run_batch(samples)
    assert len(runs) == 7
    assert all(same(x, y) for x, y in zip(answers, solo))
    for answer in solo:
        np.testing.assert_allclose(answer["likeness"], [answer["a"] @ answer["b"]], rtol=1e-5, atol=1e-6)


def test_models_of_different_gears_meet_on_the_host(tmp_path: Path) -> None:
    pipeline = Pipeline("chain")
    first = Model(tiny.vector_model(tmp_path, "first"))(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Model(tiny.vector_model(tmp_path, "second", size=4))(first))
    samples = tiny.vectors(5)
    with pipeline.compile(gears=(1, 4)).session() as session:
        joined = session.run_batch(samples)
        assert len(session.plan.built) == 1
    with pipeline.compile(gears={"first": (1, 4), "second": (1, 2)}).session() as session:
        apart = session.run_batch(samples)
        assert [stage.level for stage in session.plan.stages] == [1, 3]
    assert all(same(a, b) for a, b in zip(joined, apart))


def test_a_pipeline_without_a_model_runs_on_the_host_alone() -> None:
    pipeline = Pipeline("host")
    pipeline.output(y=tiny.Scale(3.0)(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        np.testing.assert_array_equal(session.run(x=np.ones(8, np.float32))["y"], np.full(8, 3, np.float32))
        assert session.run_batch([]) == []


def test_an_unknown_device_is_refused_and_nothing_falls_back(plan: Plan) -> None:
    with pytest.raises(DeviceError, match="there is no device 'gpu'"):
        plan.session("gpu")
    with pytest.raises(DeviceError, match="this version has no NPU device"):
        plan.session("npu:0")


def test_what_a_lease_leaves_behind_is_no_padding(tmp_path: Path) -> None:
    """A batch of fixed size pads; an id beyond the table, left in a row, would fail the next run."""
    pipeline = Pipeline("ids")
    ids = pipeline.input("ids", TensorSpec("int64", (4,)))
    pipeline.output(y=Model(tiny.gather_model(tmp_path))(ids))
    with pipeline.compile(gears=(4,)).session(NullDevice(pads=True)) as session:
        for _ in range(2):
            with session.lease() as context:
                context.inputs["ids"][:] = 10**9
        with session.lease() as context:
            assert not context.inputs["ids"].any()


def test_two_outputs_of_one_value_are_two_arrays(tmp_path: Path) -> None:
    pipeline = Pipeline("twice")
    scaled = tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))
    pipeline.output(a=scaled, b=scaled)
    with pipeline.compile().session() as session:
        answer = session.run(x=np.ones(8, np.float32))
    answer["a"][:] = 0
    assert answer["b"].tolist() == [2] * 8


def test_self_is_a_name_like_any_other() -> None:
    pipeline = Pipeline("self")
    pipeline.output(self=ops.Softmax()(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        assert session.run(x=np.zeros(8, np.float32))["self"].tolist() == [0.125] * 8
    pipeline = Pipeline("self")
    pipeline.output(y=ops.Softmax()(pipeline.input("self", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        assert session.run(self=np.zeros(8, np.float32))["y"].tolist() == [0.125] * 8
