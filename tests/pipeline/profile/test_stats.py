from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tiny

from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import OpError
from pipeline import Pipeline, Plan
from pipeline.profile import Row, Stats


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """scale, dense (device), twice."""
    folder = tmp_path_factory.mktemp("models")
    pipeline = Pipeline("chain")
    first = Model(tiny.vector_model(folder))(tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR)))
    pipeline.output(y=Model(tiny.vector_model(folder, "small", size=4))(tiny.Same()(first)))
    return pipeline.compile(gears=(1, 2, 4), streams=2)


def rows(stats: Stats) -> dict[tuple[str, str], Row]:
    return {(row.stage, row.node): row for row in stats.rows}


def test_every_part_of_the_way_has_its_row_in_order(plan: Plan) -> None:
    with plan.session() as session:
        session.run_batch(tiny.vectors(5))
        stats = session.stats()
    assert [(row.stage, row.node) for row in stats.rows] == [
        ("", "check"), ("", "queue"), ("", "request"),
        ("host0", "scale"), ("host0", "copy in"), ("dense", "wait for a stream"), ("dense", "run"),
        ("host2", "same"), ("host2", "copy in"), ("small", "wait for a stream"), ("small", "run"),
        ("", "copy out"),
    ]  # fmt: skip
    assert rows(stats)["host0", "scale"].op == "Scale"


def test_nodes_are_called_once_a_sample_stages_once_a_batch(plan: Plan) -> None:
    with plan.session() as session:
        session.run(**tiny.vectors(1)[0])
        session.run_batch(tiny.vectors(6))
        stats = session.stats()
    calls = {key: row.calls for key, row in rows(stats).items()}
    assert calls["host0", "scale"] == calls["host2", "same"] == calls["", "copy out"] == 7
    assert calls["dense", "run"] == 3  # 1, and 6 as 4 and 2
    assert calls["", "request"] == 2
    assert (stats.requests, stats.failed, stats.samples) == (2, 0, 7)


def test_times_are_those_that_the_work_took(plan: Plan) -> None:
    with plan.session(NullDevice(time_us=lambda rows: 3000.0)) as session:
        for sample in tiny.vectors(5):
            session.run(**sample)
        found = rows(session.stats())
    run, request = found["dense", "run"], found["", "request"]
    assert min(run.mean_ms, run.p50_ms) >= 3.0
    assert run.p90_ms >= run.p50_ms
    assert request.mean_ms >= 6.0
    parts = sum(row.mean_ms for row in found.values() if row is not request)
    assert parts <= request.mean_ms


def test_shares_are_of_the_work_and_add_up(plan: Plan) -> None:
    with plan.session() as session:
        session.run_batch(tiny.vectors(9))
        stats = session.stats()
    assert sum(row.share for row in stats.rows if row.share is not None) == pytest.approx(100)
    assert {row.node for row in stats.rows if row.share is None} == {"queue", "request", "wait for a stream"}


def test_nothing_has_run_yet(plan: Plan) -> None:
    with plan.session() as session:
        stats = session.stats()
    assert {row.calls for row in stats.rows} == {0}
    assert "0 requests: 0 answered, 0 failed; 0 samples answered" in str(stats)


def test_nothing_is_lost_between_threads(plan: Plan) -> None:
    samples = tiny.vectors(4)
    with plan.session() as session:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: session.run_batch(samples[: 1 + number % 4]), range(400)))
        answered = len(list(session.map(samples * 25)))
        stats = session.stats()
    found = rows(stats)
    assert stats.requests == 400 + answered == 500
    assert found["host2", "same"].calls == found["", "copy out"].calls == stats.samples == 1000 + 100
    assert found["dense", "run"].calls >= 400


def test_what_failed_is_said_and_not_timed(tmp_path: Path) -> None:
    pipeline = Pipeline("picky")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(tiny.Picky()(pipeline.input("x", tiny.VECTOR))))
    bad = {"x": np.full(8, -1000, np.float32)}
    with pipeline.compile(gears=(1, 2)).session() as session:
        session.run_batch([*tiny.vectors(1), bad])
        session.run_batch([{"wrong": 1}])
        with pytest.raises(OpError):
            session.submit(**bad).result(30)
        with pytest.raises(OpError):
            session.run(**bad)
        stats = session.stats()
    assert (stats.requests, stats.failed, stats.samples) == (0, 4, 1)
    assert str(stats).startswith("picky on cpu: 4 requests: 0 answered, 4 failed; 1 sample answered; ")
    assert rows(stats)["host0", "picky"].calls == 1


def test_the_table_is_of_fixed_width_with_a_line_for_each_stage(plan: Plan) -> None:
    with plan.session() as session:
        session.run_batch(tiny.vectors(3))
        text = str(session.stats())
    head, columns, *lines, legend = text.splitlines()
    assert head == (
        "chain on cpu: 1 request: 1 answered, 0 failed; 3 samples answered; p50 and p90 of the last 4,096 calls"
    )
    assert legend.startswith("queue: until a sample is started; map reads ahead")
    assert columns.split() == ["node", "calls", "mean", "ms", "p50", "ms", "p90", "ms", "share", "%"]
    assert [line for line in lines if " " not in line] == ["host0", "dense", "host2", "small"]
    scale = next(line for line in lines if "scale" in line)
    assert scale.startswith("  scale ")
    assert len(scale) == len(columns)
    assert scale.split()[1] == "3"


def test_the_json_holds_the_same(plan: Plan) -> None:
    with plan.session() as session:
        session.run_batch(tiny.vectors(3))
        stats = session.stats()
    document = json.loads(stats.to_json())
    assert document["format"] == 1
    assert (document["pipeline"], document["samples"]) == ("chain", 3)
    assert [Row(**row) for row in document["rows"]] == list(stats.rows)
