from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from command_line import gepipe

from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import OpError, WrongUse
from pipeline import Pipeline, Plan
from pipeline.item import Item


def index(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return document


def load(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def test_every_value_of_a_sample_is_written_by_its_key(plan: Plan, tmp_path: Path) -> None:
    (sample,) = tiny.vectors(1)
    with plan.session() as session:
        session.run(**sample)
        with session.dump_data(tmp_path / "dump"):
            answer = session.run(**sample)
        session.run(**sample)
    assert sorted(file.name for file in (tmp_path / "dump").iterdir()) == [
        "index.json",
        "run_000001_dense.npz",
        "sample_000002.npz",
    ]
    values = load(tmp_path / "dump" / "sample_000002.npz")
    assert values.keys() == {"x", "scale", "y"}
    np.testing.assert_array_equal(values["x"], sample["x"])
    np.testing.assert_array_equal(values["scale"], sample["x"] * 2)
    np.testing.assert_array_equal(values["y"], answer["y"])
    assert index(tmp_path / "dump")["values"]["scale"]["op"] == "Scale"


def test_values_inside_a_stage_that_are_dropped_otherwise_are_written_too(tmp_path: Path) -> None:
    pipeline = Pipeline("p")
    first = tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))
    second = tiny.Same()(tiny.Scale(3.0)(first))
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(second))
    (sample,) = tiny.vectors(1)
    with pipeline.compile().session() as session:
        plain = session.run(**sample)
        with session.dump_data(tmp_path / "dump"):
            assert tiny.same(session.run(**sample), plain)
    values = load(tmp_path / "dump" / "sample_000002.npz")
    np.testing.assert_array_equal(values["scale"], sample["x"] * 2)
    np.testing.assert_array_equal(values["scale_2"], sample["x"] * 2 * np.float32(3))


def test_a_run_has_its_rows_and_every_layer(plan: Plan, tmp_path: Path) -> None:
    samples = tiny.vectors(3)
    with plan.session() as session, session.dump_data(tmp_path / "dump", layers=True):
        answers = session.run_batch(samples)
    values = load(tmp_path / "dump" / "run_000001_dense.npz")
    document = index(tmp_path / "dump")
    assert document["runs"] == [{"file": "run_000001_dense.npz", "stage": "dense", "gear": "3", "samples": [1, 2, 3]}]
    np.testing.assert_array_equal(values["scale"], np.stack([sample["x"] for sample in samples]) * 2)
    np.testing.assert_array_equal(values["y"], np.stack([answer["y"] for answer in answers]))  # type: ignore[index]
    (inner,) = values.keys() - {"scale", "y"}
    assert document["layers"]["dense"][inner]["op"] == "MatMul"
    np.testing.assert_allclose(np.tanh(values[inner]), values["y"], rtol=1e-5)


def test_on_a_device_that_pads_the_rows_are_those_of_the_samples(plan: Plan, tmp_path: Path) -> None:
    with plan.session(NullDevice(pads=True)) as session, session.dump_data(tmp_path / "dump", layers=True):
        session.run_batch(tiny.vectors(3))
    values = load(tmp_path / "dump" / "run_000001_dense.npz")
    assert values["scale"].shape == (3, 8)
    assert index(tmp_path / "dump")["runs"][0]["gear"] == "4"


def test_of_a_sample_that_fails_there_is_what_there_was_and_why_it_failed(tmp_path: Path) -> None:
    pipeline = Pipeline("p")
    picky = tiny.Picky()(tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR)))
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(picky))
    session = pipeline.compile().session()
    with session, session.dump_data(tmp_path / "dump"):
        (error,) = session.run_batch([{"x": np.full(8, -99, np.float32)}])
    assert isinstance(error, OpError)
    assert "too small" in index(tmp_path / "dump")["samples"]["1"]["error"]
    assert load(tmp_path / "dump" / "sample_000001.npz").keys() == {"x", "scale"}


def test_samples_that_are_merged_are_each_written(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session, session.dump_data(tmp_path / "dump"):
        answers = list(session.map(tiny.vectors(20)))
    document = index(tmp_path / "dump")
    assert len(document["samples"]) == 20
    assert sorted(number for run in document["runs"] for number in run["samples"]) == list(range(1, 21))
    found = [load(tmp_path / "dump" / entry["file"])["y"].tobytes() for entry in document["samples"].values()]
    assert sorted(found) == sorted(answer["y"].tobytes() for answer in answers)  # type: ignore[index]


def test_no_more_samples_are_written_than_were_asked_for(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session, session.dump_data(tmp_path / "dump", most=2):
        for sample in tiny.vectors(5):
            session.run(**sample)
    assert len(list((tmp_path / "dump").glob("sample_*"))) == 2
    assert len(list((tmp_path / "dump").glob("run_*"))) == 2


def test_a_dump_may_end_while_samples_are_on_their_way(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session:
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                session.run(**tiny.vectors(1)[0])

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for round in range(10):
            with session.dump_data(tmp_path / str(round)):
                session.run(**tiny.vectors(1)[0])
        stop.set()
        for thread in threads:
            thread.join()
        for round in range(10):
            files = {entry["file"] for entry in index(tmp_path / str(round))["samples"].values()}
            assert files == {file.name for file in (tmp_path / str(round)).glob("sample_*")}


def test_what_the_index_names_is_there_when_the_dump_ends(plan: Plan, tmp_path: Path) -> None:
    """Though other threads are in the middle of a sample then."""
    with plan.session() as session:
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                session.run_batch(tiny.vectors(3))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for round in range(5):
                folder = tmp_path / str(round)
                with session.dump_data(folder, layers=True):
                    session.run(**tiny.vectors(1)[0])
                document = index(folder)
                named = {entry["file"] for entry in (*document["samples"].values(), *document["runs"])}
                assert named == {file.name for file in folder.iterdir()} - {"index.json"}
                assert all(load(folder / name) for name in named)
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def test_a_value_that_cannot_be_written_ends_the_dump_and_not_the_sample(tmp_path: Path) -> None:
    pipeline = Pipeline("p")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))))
    (sample,) = tiny.vectors(1)
    with pipeline.compile().session() as session:
        wanted = session.run(**sample)
        with session.dump_data(tmp_path / "d") as dump:
            dump.sample(Item({"odd": np.zeros(1, [("a", object)])}))
            assert tiny.same(session.run(**sample), wanted)
            with pytest.raises(WrongUse, match="the dump ended early: Object arrays"):
                dump.stop()
    assert index(tmp_path / "d")["samples"] == {}
    assert [file.name for file in (tmp_path / "d").iterdir()] == ["index.json"]


def test_a_dump_that_is_killed_leaves_no_index_of_an_earlier_one(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session:
        with session.dump_data(tmp_path):
            session.run(**tiny.vectors(1)[0])
        with session.dump_data(tmp_path):
            assert not (tmp_path / "index.json").exists()


@pytest.mark.parametrize("most", [0, -1])
def test_a_dump_of_nothing_is_refused(plan: Plan, tmp_path: Path, most: int) -> None:
    with (
        plan.session() as session,
        pytest.raises(WrongUse, match=f"a dump of {most} samples"),
        session.dump_data(tmp_path, most=most),
    ):
        pass


def test_a_second_dump_at_once_is_refused(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session, session.dump_data(tmp_path / "a"):
        second = session.dump_data(tmp_path / "b")
        with pytest.raises(WrongUse, match="being dumped already"):
            second.__enter__()


def test_a_folder_that_cannot_be_made_is_refused_and_another_can_be_named(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with plan.session() as session:
        with pytest.raises(WrongUse, match="file cannot be made"), session.dump_data(tmp_path / "file"):
            pass
        with session.dump_data(tmp_path / "dump"):
            session.run(**tiny.vectors(1)[0])
    assert (tmp_path / "dump" / "index.json").exists()


def test_a_dump_that_cannot_be_written_ends_and_the_samples_are_answered(plan: Plan, tmp_path: Path) -> None:
    (sample,) = tiny.vectors(1)
    with plan.session() as session:
        wanted = session.run(**sample)
        with session.dump_data(tmp_path / "dump") as dump:
            shutil.rmtree(tmp_path / "dump")
            assert tiny.same(session.run(**sample), wanted)
            assert tiny.same(session.submit(**sample).result(), wanted)
            with pytest.raises(WrongUse, match=r"dump: the dump ended early: .*No such file"):
                dump.stop()
        with session.dump_data(tmp_path / "dump"):
            session.run(**sample)
    assert len(index(tmp_path / "dump")["samples"]) == 1


def test_what_is_dumped_does_not_change_the_copies(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session:
        session.run(**tiny.vectors(1)[0])
        before = session.copies
        with session.dump_data(tmp_path / "dump"):
            session.run(**tiny.vectors(1)[0])
        after = session.copies
    assert [b - a for a, b in zip(before, after)] == list(before)


def test_gepipe_run_dumps_on_demand(project: Path) -> None:
    (project / "graph.py").write_text(
        "import ops\nfrom ge_engine import Model\nfrom pipeline import Pipeline\n"
        "pipeline = Pipeline('p')\n"
        "x = ops.L2Normalize()(pipeline.input('x', ops.TensorSpec('float32', (8,))))\n"
        "pipeline.output(y=Model('dense.onnx')(x))\n"
    )
    tiny.vector_model(project)
    result = gepipe("run", "graph.py", "-i", "x=[1,2,3,4,5,6,7,8]", "--dump", "dump")
    assert result.exit_code == 0, result.output
    assert sorted(file.name for file in (project / "dump").iterdir()) == [
        "index.json",
        "run_000001_dense.npz",
        "sample_000001.npz",
    ]
    values = load(project / "dump" / "run_000001_dense.npz")
    x = np.arange(1, 9, dtype=np.float32)
    unit = [value[0] for name, value in values.items() if name.startswith("l2_normalize/") and value.shape == (1, 8)]
    np.testing.assert_allclose(unit[-1], x / np.linalg.norm(x), rtol=1e-6)
