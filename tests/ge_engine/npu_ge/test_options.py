from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ge_engine.npu_ge.options import Options


def options(
    command_line: dict[str, str] | None = None, environment: dict[str, str] | None = None, count: int = 1, **keys: str
) -> Options:
    parameters = {key.replace("__", "."): {"string_value": value} for key, value in keys.items()}
    config: dict[str, Any] = {"parameters": parameters, "instance_group": [{"count": count}]}
    return Options.of(config, command_line or {}, environment)


def rules(of: Options) -> list[str]:
    return [finding.rule for finding in of.findings]


def test_nothing_said_is_one_stream_for_each_instance() -> None:
    assert options() == Options(levels={"session": {}, "graph": {}, "global": {}, "ge": {}})
    assert options(count=5).streams == 5
    assert options(count=5, device_ids="0,1").device_exec_blocks == 3
    assert options(count=5, device_ids="0,1", device_exec_blocks="-1").streams == 6


def test_config_pbtxt_wins_over_the_command_line() -> None:
    said = {"device_ids": "0,1", "device_exec_blocks": "4", "graph.ge.dynamicDims": "1;2"}
    assert options(said).streams == 8
    both = options(said, device_ids="3", device_exec_blocks="2", graph__ge__dynamicDims="1;2;3")
    assert (both.device_ids, both.streams, both.get("ge.dynamicDims")) == ((3,), 2, "1;2;3")


def test_an_option_of_the_graph_wins_over_the_session_and_that_over_all() -> None:
    said = {"ge.exec.precision_mode_v2": "fp16"}
    assert options(said).precision == "fp16"
    assert options(said, session__ge__exec__precision_mode_v2="origin").precision == "origin"
    both = options(session__ge__dynamicDims="1;2", graph__ge__dynamicDims="1;3")
    assert both.get("ge.dynamicDims") == "1;3"
    assert options(session__ge__exec__precision_mode="must_keep_origin_dtype").precision == "must_keep_origin_dtype"


def test_static_model_is_on_by_either_and_off_by_none() -> None:
    assert options(static_model="1").static_model
    assert options({"static_model": "1"}).static_model
    assert not options({"static_model": "true"}).static_model
    kept = options({"static_model": "1"}, static_model="0")
    assert kept.static_model
    assert rules(kept) == ["V04"]


@pytest.mark.parametrize(
    ("key", "rule"),
    [("static_model", "V04"), ("instance_exec_blocks", "V06"), ("device_exec_blocks", "V07"), ("device_ids", "V07")],
)
def test_a_text_where_a_number_must_stand_is_refused(key: str, rule: str) -> None:
    (finding,) = options(**{key: "true"}).findings
    assert (finding.rule, finding.severity) == (rule, "refused")
    assert finding.message == f"{key} is 'true': Failed to create model state: stoi"


def test_a_number_beyond_an_int_is_refused_as_stoi_refuses_it() -> None:
    (finding,) = options(device_exec_blocks=str(2**31)).findings
    assert finding.message == "device_exec_blocks is '2147483648': Failed to create model state: stoi"
    assert options(device_exec_blocks=str(2**31 - 1)).streams == 2**31 - 1


def test_what_follows_a_number_is_not_looked_at() -> None:
    assert options(device_exec_blocks=" 2 streams").streams == 2


@pytest.mark.parametrize(
    ("keys", "rule", "message"),
    [
        ({"ge__aicoreNum": "12|10"}, "V02", "ge.aicoreNum has no effect in config.pbtxt"),
        ({"my__session__ge__x": "1"}, "V02", "my.session.ge.x is cut off from the front"),
        ({"global__ge__x": "1"}, "V03", "global.ge.x is stored and never read"),
        ({"graph__ge__aicoreNum": "12|10"}, "V22", "graph.ge.aicoreNum has no effect"),
        ({"session__ge__aicoreNum": "12"}, "V22", "session.ge.aicoreNum is '12'"),
        ({"profiling": "on"}, "V23", "profiling is 'on', which has no effect"),
        ({"profiling": "true"}, "V23", "profiling: the stand-in does not profile"),
    ],
)
def test_what_has_no_effect_is_told(keys: dict[str, str], rule: str, message: str) -> None:
    (finding,) = options(**keys).findings
    assert (finding.rule, finding.severity, finding.message) == (rule, "advice", message)


def test_dump_data_needs_its_directory_where_the_server_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (finding,) = options(dump_data="1").findings
    assert (finding.rule, finding.severity) == ("V23", "fails")
    assert finding.message == "dump_data needs the directory dump_data where the server was started"
    (tmp_path / "dump_data").mkdir()
    assert options(dump_data="1").findings == ()
    assert options(dump_data="1").dump_data


def test_cores_are_written_with_a_bar() -> None:
    assert rules(options(session__ge__aicoreNum="12|10")) == []
    assert rules(options(session__ge__aicoreNum="8|")) == []


def test_the_environment_takes_the_place_of_the_command_line() -> None:
    said = {"ge.exec.precision_mode_v2": "fp16"}
    both = options(said, {"GE_NPU_CONFIG": '{"ge.exec.precision_mode_v2": "origin", "ge.graphRunMode": 1}'})
    assert both.precision == "origin"
    assert [finding.message for finding in both.findings] == ["ge.graphRunMode is 1 in GE_NPU_CONFIG"]
    assert rules(options(said, {"GE_NPU_CONFIG": "no json"})) == ["V29"]
