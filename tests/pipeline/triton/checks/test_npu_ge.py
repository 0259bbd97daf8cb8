from __future__ import annotations

from pathlib import Path

import pytest
from lint_case import tensor
from lint_npu import BATCH, GEARS, PRECISION, TWO_STREAMS, found, npu_config, npu_model

from pipeline.triton.lint import lint


def test_a_model_in_each_layout_is_clean(tmp_path: Path) -> None:
    assert lint(npu_model(tmp_path / "plain").parent) == ()
    text = npu_config(f"{BATCH} dynamic_batching {{ preferred_batch_size: [ 4 ] }}", PRECISION | GEARS | TWO_STREAMS)
    assert lint(npu_model(tmp_path / "gears", text).parent) == ()


FEW_GEARS = GEARS | {"graph.ge.dynamicDims": "1;4"}
ONE_INSTANCE = "max_batch_size: 4 instance_group [ { count: 1 kind: KIND_CPU } ]"


def test_one_stream_is_enough_where_no_request_can_be_outside_the_gears(tmp_path: Path) -> None:
    text = npu_config(f"{ONE_INSTANCE} dynamic_batching {{ preferred_batch_size: [ 4 ] }}", PRECISION | GEARS)
    assert lint(npu_model(tmp_path, text).parent) == ()


@pytest.mark.parametrize(
    ("extra", "gears", "dims"),
    [
        (ONE_INSTANCE, FEW_GEARS, "4"),  # a request of 3
        (ONE_INSTANCE, {"graph.ge.inputShape": "x:-1,-1", "graph.ge.dynamicDims": "1,4;2,4;3,4;4,4"}, "4"),
        (ONE_INSTANCE, {}, "-1"),  # a request of [1,5]
        ("max_batch_size: 0", {"graph.ge.dynamicDims": "1;2;3;4"}, "-1, 4"),  # a request of [5,4]
    ],
)
def test_one_stream_is_little_where_a_request_can_be_outside_the_gears(
    extra: str, gears: dict[str, str], dims: str, tmp_path: Path
) -> None:
    ends = ([tensor(name, dims)] for name in ("x", "y"))
    model = npu_model(tmp_path, npu_config(extra, PRECISION | GEARS | gears, *ends), onnx=False)
    assert found(model)["V08"].severity == "advice"


@pytest.mark.parametrize(
    ("values", "rule", "severity", "message", "fix"),
    [
        ({"ge.aicoreNum": "12|10"}, "V02", "fails", "'ge.aicoreNum' is dropped", 'write key: "session.ge.aicoreNum"'),
        ({"ge.dynamicDims": "1;2"}, "V02", "fails", "is dropped", 'write key: "graph.ge.dynamicDims"'),
        ({"my.session.ge.x": "1"}, "V02", "fails", "its front is cut off", "mend the key"),
        ({"device_id": "0"}, "V02", "fails", "does not know 'device_id'", 'write key: "device_ids"'),
        ({"global.ge.x": "1"}, "V03", "fails", "is stored and never read", 'write key: "session.ge.x"'),
        ({"static_model": "true"}, "V04", "refused", "Failed to create model state: stoi", 'write string_value: "1"'),
        ({"static_model": "0"}, "V04", "advice", "does nothing", 'write "1"'),
        ({"static_model": "1"} | GEARS, "V04", "refused", "static_model and gears", "leave static_model out"),
        ({"static_model": "1"}, "V05", "advice", "a loop over a graph of batch 1", "gears instead"),
        ({"instance_exec_blocks": "2"}, "V06", "fails", "every instance reads row 0", "leave it out"),
        ({"instance_exec_blocks": "all"}, "V06", "refused", "is not a number", "leave instance_exec_blocks out"),
        ({"device_exec_blocks": "many"}, "V07", "refused", "is not a number", "leave device_exec_blocks out"),
        ({"device_exec_blocks": "2000"}, "V07", "fails", "2000 streams on each of 1 cards", "up to 8"),
        ({"device_exec_blocks": "9"}, "V07", "advice", "9 streams a card", "up to 8"),
        ({"device_ids": "0,one"}, "V07", "refused", "'one' is not a number", "numbers and commas"),
        ({"device_exec_blocks": "4"}, "V08", "advice", "2 instances feed 4 streams", "count: 4"),
        ({"device_exec_blocks": "1"} | FEW_GEARS, "V08", "advice", "the model hangs from then on", '"2"'),
        ({"session.ge.exec.precision_mode_v2": "fp32"}, "V20", "fails", "is not a mode that GE knows", "write"),
        ({"session.ge.exec.precision_mode": "force_fp32"}, "V20", "fails", "exclude each other", "leave"),
        ({"session.ge.aicoreNum": "12"}, "V22", "advice", "leaves the vector cores unset", '"12|12"'),
        ({"session.ge.aicoreNum": "012|10"}, "V22", "fails", "is not cube|vector", '"12|10"'),
        ({"graph.ge.aicoreNum": "12|10"}, "V22", "fails", "at graph level is not read", "session.ge.aicoreNum"),
        ({"dump_data": "1"}, "V23", "advice", "./dump_data", "make that folder"),
        ({"profiling": "1"}, "V23", "fails", "is not read in parameters", '"dynamic"'),
    ],
)
def test_a_setting_that_does_not_do_what_it_says(
    values: dict[str, str], rule: str, severity: str, message: str, fix: str, tmp_path: Path
) -> None:
    model = npu_model(tmp_path, npu_config(values=PRECISION | values))
    finding = found(model)[rule]
    assert finding.severity == severity
    assert message in finding.message
    assert fix in finding.fix
    assert finding.where.startswith(f"{model / 'config.pbtxt'}:")


def test_a_setting_is_found_at_its_line(tmp_path: Path) -> None:
    model = npu_model(tmp_path, npu_config(values=PRECISION | {"device_ids": "0", "ge.aicoreNum": "12|10"}))
    lines = (model / "config.pbtxt").read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(lines) if "ge.aicoreNum" in text)
    assert found(model)["V02"].where == f"{model / 'config.pbtxt'}:{line}"


def test_no_precision_is_advice_and_names_the_line_to_write(tmp_path: Path) -> None:
    finding = found(npu_model(tmp_path, npu_config(values={})))["V20"]
    assert finding.severity == "advice"
    assert "precision_mode_v2" in finding.fix


def test_either_level_and_either_name_of_the_precision_will_do(tmp_path: Path) -> None:
    for number, key in enumerate(("graph.ge.exec.precision_mode_v2", "session.ge.exec.precision_mode")):
        mode = "origin" if key.endswith("v2") else "must_keep_origin_dtype"
        assert found(npu_model(tmp_path / str(number), npu_config(values={key: mode}))) == {}


def test_batching_without_a_preferred_size_merges_nothing(tmp_path: Path) -> None:
    finding = found(npu_model(tmp_path, npu_config(f"{BATCH} dynamic_batching {{ }}")))["V18"]
    assert (finding.severity, finding.fix.startswith("write preferred_batch_size: [ 4 ]")) == ("advice", True)


def test_merging_needs_fixed_dims(tmp_path: Path) -> None:
    text = npu_config(f"{BATCH} dynamic_batching {{ preferred_batch_size: [ 4 ] }}").replace(
        "dims: [ 4 ]", "dims: [ -1 ]", 1
    )
    assert "take their dims from config.pbtxt" in found(npu_model(tmp_path, text))["V19"].message


def test_a_static_graph_has_nothing_to_batch(tmp_path: Path) -> None:
    text = npu_config(f"{BATCH} dynamic_batching {{ preferred_batch_size: [ 4 ] }}", PRECISION | {"static_model": "1"})
    assert "run one by one" in found(npu_model(tmp_path, text))["L08"].message


def test_optional_inputs_are_refused(tmp_path: Path) -> None:
    text = npu_config().replace("dims: [ 4 ]", "dims: [ 4 ] optional: true", 1)
    finding = found(npu_model(tmp_path, text))["M34"]
    assert finding.severity == "refused"
    assert "doesn't support optional input" in finding.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"ge.x": 1}', "'ge.x' is 1"),
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_the_variable_with_options_holds_strings(text: str, message: str, tmp_path: Path) -> None:
    model = npu_model(tmp_path)
    assert message in found(model, environment={"GE_NPU_CONFIG": text})["V29"].message
    assert found(model, environment={"GE_NPU_CONFIG": '{"ge.x": "1"}'}) == {}
    assert found(model, environment={}) == {}
