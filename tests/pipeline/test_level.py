from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tiny
from onnx_files import node, save, tensor

import ops
from ge_engine import Model
from ge_engine.devices import NullDevice
from ge_engine.devices.null import Compute
from ops import Array, Graded, OpError, SampleError, TensorSpec
from pipeline import Pipeline, Plan, Session


def test_sizes_are_grouped_and_answered_in_order(sized: Plan) -> None:
    samples = tiny.pictures(20)
    with sized.session() as session:
        solo = [session.run(**sample) for sample in samples]
        for n in range(21):
            answers = session.run_batch(samples[:n])
            assert len(answers) == n
            assert all(tiny.same(a, b) for a, b in zip(answers, solo))


def test_a_users_op_without_a_gear_method_is_grouped_by_what_it_made(tmp_path: Path) -> None:
    pipeline = Pipeline("cut")
    image = tiny.Resized(((32, 32), (16, 16)))(pipeline.input("image", TensorSpec("uint8", ("H", "W", 3))))
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tiny.picture_model(tmp_path))(x))
    samples = [{"image": p["image"][:size, :size].copy()} for p, size in zip(tiny.pictures(8), (40, 20, 33, 16) * 2)]
    samples = [sample for sample in samples if min(sample["image"].shape[:2]) >= 16]
    with pipeline.compile(gears=(1, 4)).session() as session:
        solo = [session.run(**sample) for sample in samples]
        assert all(tiny.same(a, b) for a, b in zip(session.run_batch(samples), solo))


def grid_model(path: Path) -> Path:
    """a [n,h] and b [n,w] to y [n,h,w]: each with each."""
    nodes = [
        node("Unsqueeze", ["a", "last"], ["c"]),
        node("Unsqueeze", ["b", "middle"], ["d"]),
        node("Mul", ["c", "d"], ["y"]),
    ]
    inputs = [tensor("a", ("n", "h")), tensor("b", ("n", "w"))]
    return save(path, nodes, inputs, [tensor("y", ("n", "h", "w"))], {"last": np.int64([2]), "middle": np.int64([1])})


def test_the_size_of_a_sample_is_that_of_all_its_inputs_together(tmp_path: Path) -> None:
    """a alone does not tell the first two sizes from each other."""
    pipeline = Pipeline("grid")
    a = pipeline.input("a", TensorSpec("float32", (Graded("H", (4, 4, 6)),)))
    b = pipeline.input("b", TensorSpec("float32", (Graded("W", (4, 3, 2)),)))
    pipeline.output(y=Model(grid_model(tmp_path / "grid.onnx"))(a, b))
    samples = [{"a": np.arange(h, dtype=np.float32), "b": np.ones(w, np.float32)} for h, w in ((4, 4), (4, 3), (6, 2))]
    with pipeline.compile().session() as session:
        for sample, answer in zip(samples, session.run_batch(samples)):
            assert isinstance(answer, dict)
            np.testing.assert_array_equal(answer["y"], np.outer(sample["a"], sample["b"]))
        mixed = {"a": samples[0]["a"], "b": samples[2]["b"]}
        with pytest.raises(SampleError, match=r"no size has a \[4\], b \[2\]") as error:
            session.run(**mixed)
        assert "4x4, 4x3, 6x2" in error.value.fix
        with pytest.raises(SampleError, match="no size has"):
            session.submit(**mixed).result()
        (good, bad) = session.run_batch([samples[1], mixed])
        assert isinstance(good, dict)
        assert isinstance(bad, SampleError)


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
    chosen, samples = (plan, tiny.vectors(20)) if kind == "batch gears" else (sized, tiny.pictures(20))
    with chosen.session() as cpu, chosen.session(NullDevice(compute=static_graphs(chosen))) as padding:
        solo = [cpu.run(**sample) for sample in samples]
        for n in range(21):
            assert all(tiny.same(answer, wanted) for answer, wanted in zip(padding.run_batch(samples[:n]), solo))


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
    plan = pipeline.compile(gears=tiny.GEARS)
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
        assert all(tiny.same(a, b) for a, b in zip(session.run_batch(samples), solo))


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
    for chosen, samples, sizes in ((plan, tiny.vectors(8), tiny.GEARS), (sized, tiny.pictures(1) * 8, (1, 3))):
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
        slot = self.session._slots.take()
        self.ready.release()
        self.release.wait(30)
        self.session._slots.give(slot)

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
