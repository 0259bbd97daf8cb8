from __future__ import annotations

import json
import re
from pathlib import Path

import command_line
import pytest
from click.testing import Result

from pipeline.rulebook import BOOK
from pipeline.triton.log_doctor import NPU_GE, TRITON, explain_log

# Every message of the backend that its own troubleshooting page and its source name.
KNOWN = """aclgrphParseONNX execute failed, ret is: 1343225860
session_->AddGraph failed, ret is: 1343225857
session_->CompileGraph failed, ret is: 1343225857
session_->LoadGraph failed, ret is: 1343225857
execute model failed, ret is:1343225857
InitGraphSession failed for graph_id: 1001
init instance error, please check log for more info.
ProcessRequests fail please check triton log find error info
no npu card detected!
can't find model file in model path!
Model file not found: dir path /models/a
Failed to create model state: stoi
not support model_mode_TENSOR_ZERO
-1 dim has no name
seq_len have not find
buffer_size get error 12 != 16
malloc dev buffer failed, ret is:200000
infer output failed!
键 0 不存在
E13025: The input tensor dimension [3] is not in the dynamic dimension list configured by dynamic_dims"""


@pytest.mark.parametrize("line", KNOWN.splitlines())
def test_a_message_of_the_backend_is_explained(line: str) -> None:
    (found,) = explain_log([f"I1129 12:00:00.0 1 npu.cpp:3] {line}"])
    assert found.entry.meaning
    assert found.entry.fix


def test_lines_are_numbered_and_told_once() -> None:
    lines = [
        "I1129 server.cc:1] started",
        "E1129 12:00:00 1 a.cc:1] E13025: [3]",
        "E1129 12:00:01 1 a.cc:1] E13025: [3]",
    ]
    assert [(found.line, found.entry.rule) for found in explain_log(lines)] == [(2, "V17")]


def test_the_rules_that_are_named_are_there() -> None:
    assert {entry.rule for entry in (*NPU_GE, *TRITON) if entry.rule} <= set(BOOK)


def test_no_pattern_hides_behind_another() -> None:
    patterns = [entry.pattern for entry in (*NPU_GE, *TRITON)]
    assert len(set(patterns)) == len(patterns)
    assert all(re.compile(pattern) for pattern in patterns)


def test_a_log_of_something_else_says_nothing(tmp_path: Path) -> None:
    assert list(explain_log(["I1129 all is well", "", "中文"])) == []


def gepipe(*words: str) -> Result:
    return command_line.gepipe("doctor", *words)


def test_the_command_prints_the_line_the_meaning_and_the_remedy(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"I1129 started\nE1129 12:00:00 1 a.cc:1] \xff " + "键 0 不存在\n".encode())
    result = gepipe("--log", str(log))
    assert result.exit_code == 1
    assert f"{log}:2: " in result.stdout
    assert "(gepipe rule V10)" in result.stdout
    (line,) = json.loads(gepipe("--log", str(log), "--json").stdout)["lines"]
    assert (line["line"], line["rule"]) == (2, "V10")


def test_a_log_without_trouble(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("I1129 started\n")
    result = gepipe("--log", str(tmp_path / "server.log"))
    assert result.exit_code == 0
    assert "no line that is known" in result.stdout


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    result = gepipe("--log", str(tmp_path / "nowhere.log"))
    assert result.exit_code == 2
    assert "cannot be read: No such file" in result.output


def test_a_line_without_end_is_looked_at_in_its_beginning_only() -> None:
    (found,) = explain_log(["E13025 " + "Stub process '" * 300_000])
    assert found.entry.rule == "V17"
    assert len(found.text) == 10_000
