from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
from command_line import failed, gepipe
from graphs import VECTOR

PICTURE = """\
import ops
from pipeline import Pipeline

pipeline = Pipeline("picture")
data = pipeline.input("image", ops.ENCODED_IMAGE)
pipeline.output(small=ops.Resize(height=2, width=2)(ops.DecodeImage(color="RGB")(data)))
"""


def test_run_takes_json_text_and_files(graph: Path) -> None:
    folder = graph.parent
    np.save(folder / "x.npy", np.arange(1, 9, dtype=np.float32))
    (folder / "x.json").write_text(VECTOR, encoding="utf-8")
    answers = []
    for value in (VECTOR, "@x.npy", "@x.json"):
        result = gepipe("run", "graph.py", "--json", "-i", f"x={value}")
        assert result.exit_code == 0
        answers.append(json.loads(result.stdout))
    assert answers[0] == answers[1] == answers[2]
    assert list(answers[0]) == ["scores", "labels"]
    assert set(answers[0]["labels"]) < {"猫", "狗", "鸟", "鱼"}
    assert "猫" in result.stdout or "狗" in result.stdout or "鸟" in result.stdout or "鱼" in result.stdout


def test_run_shows_where_the_time_went_beside_the_answer(graph: Path) -> None:
    result = gepipe("run", "graph.py", "--json", "--stats", "-i", f"x={VECTOR}")
    assert list(json.loads(result.stdout)) == ["scores", "labels"]
    assert "good on cpu: 1 request: 1 answered, 0 failed; 1 sample answered" in result.stderr
    assert re.search(r"^  run +1 +\d+\.\d{3} ", result.stderr, re.MULTILINE)


def test_run_writes_a_trace_also_of_what_fails(graph: Path) -> None:
    assert gepipe("run", "graph.py", "--trace", "t.json", "-i", f"x={VECTOR}").exit_code == 0
    assert json.loads((graph.parent / "t.json").read_text())["traceEvents"]
    failed(1, "run", "graph.py", "--trace", "bad.json", "-i", "x=[1,2]")
    assert "wanted float32[8]" in (graph.parent / "bad.json").read_text()
    said = failed(2, "run", "graph.py", "--trace", "absent/t.json", "-i", f"x={VECTOR}")
    assert "absent/t.json cannot be written" in said


def test_run_for_people(graph: Path) -> None:
    result = gepipe("run", "graph.py", "-i", f"x={VECTOR}", "--gears", "1,2")
    assert result.exit_code == 0
    assert "scores  float32[2]" in result.stdout


def test_run_on_a_bad_sample_says_why(graph: Path) -> None:
    said = failed(1, "run", "graph.py", "-i", "x=[1,2]")
    assert "SampleError: input 'x' (graph.py:7): float32[2], wanted float32[8]" in said
    graph.write_text(PICTURE, encoding="utf-8")
    (graph.parent / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
    said = failed(1, "run", "graph.py", "-i", "image=@bad.jpg")
    assert "DecodeError: node 'decode_image' (DecodeImage, graph.py:6):" in said
    assert "fix:" in said


def test_run_on_a_file_of_bytes(graph: Path) -> None:
    graph.write_text(PICTURE, encoding="utf-8")
    cv2.imwrite(str(graph.parent / "white.png"), np.full((4, 4, 3), 255, np.uint8))
    result = gepipe("run", "graph.py", "--json", "-i", "image=@white.png")
    assert json.loads(result.stdout) == {"small": [[[255] * 3] * 2] * 2}
