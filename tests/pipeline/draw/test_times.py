from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny

from ops import WrongUse
from pipeline.draw import read_times
from pipeline.draw.times import times_of_stats


def test_a_trace_gives_the_mean_time_of_each_node_and_stage(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    with tiny.vector_pipeline(tmp_path).compile().session() as session:
        with session.trace(file):
            for sample in tiny.vectors(3):
                session.run(**sample)
        counted = session.stats()
    stats = {(row.stage, row.node): row for row in counted.rows}
    times = read_times(file, ["scale", "dense"], ["dense"])
    assert times.nodes.keys() == {"scale"}
    assert times.nodes["scale"].calls == times.stages["dense"].calls == 3
    assert times.nodes["scale"].us / 1e3 == pytest.approx(stats["host0", "scale"].mean_ms, rel=0.01)
    assert times.stages["dense"].us / 1e3 == pytest.approx(stats["dense", "run"].mean_ms, rel=0.01)
    own = times_of_stats(counted)
    assert own.nodes == {"scale": (pytest.approx(stats["host0", "scale"].mean_ms * 1e3), 3)}
    assert own.stages == {"dense": (pytest.approx(stats["dense", "run"].mean_ms * 1e3), 3)}


def test_what_failed_is_not_counted(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    slices = [
        {"ph": "X", "name": "a", "tid": 1, "ts": 0, "dur": dur, "args": {"node": "a"} | more}
        for dur, more in ((2, {}), (4, {}), (9, {"error": "x"}))
    ]
    file.write_text(json.dumps({"traceEvents": slices}))
    assert read_times(file, ["a"], []).nodes["a"] == (3.0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"t\.json is no trace: Expecting"),
        ("[]", r"t\.json is no trace: it has no traceEvents"),
        ("[" * 100_000, r"t\.json is no trace: maximum recursion"),
        ('{"traceEvents": 1}', r"t\.json is no trace: it has no traceEvents"),
        ('{"traceEvents": [1]}', r"t\.json is no trace of gepipe's: it has the event 1\n"),
        *(
            (f'{{"traceEvents": [{event}]}}', r"t\.json is no trace of gepipe's: it has the event \{")
            for event in (
                '{"ph": "X", "name": "a", "tid": 1, "ts": 0, "dur": "2"}',
                '{"ph": "X", "name": "a", "tid": 1, "ts": 0, "dur": NaN}',
                '{"ph": "X", "name": "a", "tid": 1, "ts": 0, "dur": -1}',
                '{"ph": "X", "name": "a", "tid": "1", "ts": 0, "dur": 1}',
                '{"ph": "X", "name": "a", "ts": 0, "dur": 1}',
                '{"ph": "X", "name": null, "tid": 1, "ts": 0, "dur": 1}',
                '{"ph": "X", "name": "a", "tid": 1, "ts": 0, "dur": 1, "args": [1]}',
                '{"ph": "M", "name": "thread_name", "tid": 1}',
            )
        ),
        (
            '{"traceEvents": [{"ph": "b"}, {"ph": "X", "name": "a", "tid": 1, "ts": 0, "dur": 1, '
            '"args": {"node": ["a"]}}]}',
            r"t\.json has no times of this pipeline",
        ),
        ('{"traceEvents": []}', r"t\.json has no times of this pipeline"),
    ],
)
def test_what_is_no_trace_of_this_pipeline_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "t.json"
    file.write_text(text)
    with pytest.raises(WrongUse, match=message):
        read_times(file, ["a"], [])


def test_a_trace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="cannot be read: No such file"):
        read_times(tmp_path / "t.json", ["a"], [])
