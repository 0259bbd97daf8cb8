from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from ops import SpecError
from pipeline import Batching, Deployment

OTHER: dict[str, Any] = {
    "gears": {"image": (1, 4), "text": (1, 32)},
    "streams": 2,
    "threads": 3,
    "batching": Batching(max_delay_us=500, preferred=(4, 8), max_pending=64, timeout_us=9),
    "exact": True,
    "device_ids": (0, 1),
    "cores": {"image": "12|10", "text": "8|"},
    "precision": {"image": "fp16"},
    "static": True,
    "profiling": True,
    "dump_graph": True,
    "dump_data": True,
    "target": "24.10",
    "model_backend": "onnxruntime",
    "max_batch_size": 16,
    "host_instances": 2,
    "warmup": True,
    "response_cache": True,
    "name_prefix": "team_a-",
}


def test_a_deployment_reads_back_from_its_json() -> None:
    assert OTHER.keys() == {field.name for field in dataclasses.fields(Deployment)}
    for settings in (Deployment(), Deployment(**OTHER)):
        assert Deployment.from_json(settings.to_json()) == settings
        assert hash(Deployment.from_json(settings.to_json())) == hash(settings)


def test_what_json_leaves_out_has_its_default() -> None:
    assert Deployment.from_json('{"streams": 2}') == Deployment(streams=2)
    assert Deployment.from_json('{"batching": {"preferred": [4]}}').batching == Batching(preferred=(4,))


def test_gears_are_sorted_and_may_be_written_as_text() -> None:
    for gears in ((4, 1, 2), [2, 4, 1], "1,2,4"):
        assert Deployment(gears=gears).gears == (1, 2, 4)  # type: ignore[arg-type]
    assert Deployment(gears=8).gears == (8,)  # type: ignore[arg-type]
    assert Deployment(gears={"a": "1,4"}).gears_of("a") == (1, 4)  # type: ignore[dict-item]


def test_a_mapping_sets_a_field_for_each_model() -> None:
    settings = Deployment(gears={"image": (1, 4)}, precision={"image": "fp16", "text": "origin"})
    assert settings.gears_of("image") == (1, 4)
    assert settings.gears_of("text") == (1,)
    assert Deployment(gears=(1, 2)).gears_of("text") == (1, 2)
    assert settings.named_models() == {"gears": ("image",), "precision": ("image", "text")}


def test_a_deployment_is_frozen_and_has_a_hash() -> None:
    settings = Deployment(**OTHER)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.streams = 3  # type: ignore[misc]
    assert {settings: 1}[Deployment(**OTHER)] == 1
    assert settings != Deployment()


def test_the_users_own_mapping_is_left_alone() -> None:
    mine = {"image": [4, 1]}
    settings = Deployment(gears=mine)  # type: ignore[arg-type]
    mine["image"].append(8)
    assert settings.gears == {"image": (1, 4)}
    assert mine == {"image": [4, 1, 8]}


WRONG: tuple[tuple[str, Any, str], ...] = (
    ("gears", (), "not distinct batch sizes"),
    ("gears", (1, 1), "not distinct batch sizes"),
    ("gears", (0,), "not distinct batch sizes"),
    ("gears", (1.5,), "not distinct batch sizes"),
    ("gears", True, "not distinct batch sizes"),
    ("gears", None, "gears is None, no tuple of batch sizes"),
    ("gears", "one", "'one' are not numbers"),
    ("gears", "224,224;336,336", "are sizes.*give sizes to the op"),
    ("gears", {"image": None}, "gears of 'image' is None"),
    ("gears", {1: (1,)}, "gears names the model 1"),
    ("streams", 0, "streams is 0.*at least 1"),
    ("streams", True, "streams is True"),
    ("streams", "2", "streams is '2'"),
    ("streams", None, "streams is None"),
    ("threads", 0, "threads is 0"),
    ("batching", 5, "batching is 5"),
    ("batching", {"max_delay": 1}, "batching has no field 'max_delay'.*did you mean 'max_delay_us'"),
    ("batching", {"max_delay_us": -1}, "batching.max_delay_us is -1.*at least 0"),
    ("batching", {"max_pending": 0}, "batching.max_pending is 0"),
    ("batching", {"timeout_us": -1}, "batching.timeout_us is -1.*at least 0"),
    ("batching", {"preferred": 4}, "batching.preferred is 4"),
    ("batching", {"preferred": (4, 4)}, "batching.preferred is .*name each once"),
    ("exact", 1, "exact is 1.*True or False"),
    ("device_ids", "01", "device_ids is '01'"),
    ("device_ids", (), "device_ids is empty"),
    ("device_ids", (-1,), "device_ids is -1"),
    ("device_ids", (0, 0), "name each once"),
    ("cores", "12", r"cores is '12'.*12\|10"),
    ("cores", "012|10", "cores is '012|10'"),
    ("cores", {"image": 12}, "cores of 'image' is 12"),
    ("precision", "fp61", "precision is 'fp61'.*did you mean 'fp16'"),
    ("precision", {"image": ["fp16"]}, "precision of 'image' is"),
    ("static", "yes", "static is 'yes'"),
    ("profiling", None, "profiling is None"),
    ("dump_graph", 0, "dump_graph is 0"),
    ("dump_data", "yes", "dump_data is 'yes'"),
    ("target", "24.2", "target is '24.2'.*did you mean '24.02'"),
    ("target", 24.02, "target is 24.02"),
    ("model_backend", "npu", "model_backend is 'npu'.*did you mean 'npu_ge'"),
    ("max_batch_size", -1, "max_batch_size is -1"),
    ("host_instances", 0, "host_instances is 0"),
    ("warmup", [], "warmup is"),
    ("response_cache", "", "response_cache is ''"),
    ("name_prefix", "a b", "name_prefix is 'a b'"),
    ("name_prefix", None, "name_prefix is None"),
)


@pytest.mark.parametrize(("field", "value", "message"), WRONG)
def test_a_wrong_value_is_refused_with_the_field(field: str, value: Any, message: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){message}") as error:
        Deployment.of(None, **{field: value})
    assert error.value.fix


def test_every_field_has_a_wrong_value_here() -> None:
    assert {field for field, _, _ in WRONG} == {field.name for field in dataclasses.fields(Deployment)}


@pytest.mark.parametrize(("field", "near"), [("gear", "gears"), ("stream", "streams"), ("batch", "batching")])
def test_an_unknown_field_gets_its_near_miss(field: str, near: str) -> None:
    with pytest.raises(SpecError, match=f"(?s)a Deployment has no field '{field}'.*did you mean '{near}'"):
        Deployment.of(None, **{field: 1})
    with pytest.raises(SpecError, match=f"did you mean '{near}'"):
        Deployment.from_json(json.dumps({field: 1}))


def test_a_deployment_with_some_fields_changed() -> None:
    settings = Deployment.of(Deployment(streams=2), gears=(1, 8))
    assert (settings.streams, settings.gears) == (2, (1, 8))
    assert Deployment.of() == Deployment()


def test_what_is_no_deployment_is_refused() -> None:
    with pytest.raises(SpecError, match="is not a Deployment"):
        Deployment.of((1, 4))  # type: ignore[arg-type]  # as compile((1, 4)) would
    for text in ("", "{", "[1]", "5", "[" * 100_000):
        with pytest.raises(SpecError, match=r"the deployment is not .*JSON") as caught:
            Deployment.from_json(text)
        assert '{"gears": [1, 4]}' in caught.value.fix  # what is typed, not only what is called
    for name in ("deployment", "cls", "self"):
        with pytest.raises(SpecError, match=f"no field '{name}'"):
            Deployment.from_json(json.dumps({name: 1}))


@pytest.mark.parametrize("field", ["max_delay_us", "timeout_us"])
def test_a_time_that_no_clock_counts_is_refused(field: str) -> None:
    assert Batching(**{field: 86_400_000_000})
    with pytest.raises(SpecError, match=rf"batching.{field} is 1{'0' * 17}\nfix: give at most 86,400,000,000"):
        Batching(**{field: 10**17})


@pytest.mark.parametrize("field", ["max_delay_us", "max_pending", "timeout_us", "preferred"])
def test_a_setting_of_merging_is_said_to_be_one_of_batching(field: str) -> None:
    fix = rf"it is a field of Batching: batching=Batching\({field}=1000\)"
    with pytest.raises(SpecError, match=f"(?s)a Deployment has no field '{field}'.*{fix}"):
        Deployment.of(None, **{field: 1000})
