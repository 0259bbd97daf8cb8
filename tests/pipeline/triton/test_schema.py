from __future__ import annotations

import pytest
from google.protobuf import descriptor_pool, text_format

from ops import SpecError
from pipeline.triton.releases import TARGETS
from pipeline.triton.schema import model_config


@pytest.mark.parametrize("target", TARGETS)
def test_the_class_reads_what_the_release_knows(target: str) -> None:
    text = 'input { name: "x" data_type: TYPE_FP32 dims: [1, -1] } parameters { key: "k" value { string_value: "v" } }'
    message = text_format.Parse(text, model_config(target)())
    assert list(message.input[0].dims) == [1, -1]
    assert message.parameters["k"].string_value == "v"
    assert message.DESCRIPTOR.full_name == "inference.ModelConfig"


def test_releases_differ() -> None:
    old, new = (model_config(target).DESCRIPTOR.file.message_types_by_name["ModelInput"] for target in TARGETS)
    assert "is_non_linear_format_io" not in old.fields_by_name
    assert "is_non_linear_format_io" in new.fields_by_name


def test_one_batcher_of_a_oneof_is_set() -> None:
    message = model_config()()
    message.dynamic_batching.SetInParent()
    message.ensemble_scheduling.SetInParent()
    assert message.WhichOneof("scheduling_choice") == "ensemble_scheduling"


def test_the_default_pool_stays_free_for_tritonclient() -> None:
    model_config()
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("inference.ModelConfigOfNobody")
    assert model_config().DESCRIPTOR.file.pool is not descriptor_pool.Default()


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(SpecError, match=r"there is no schema of Triton 24\.03"):
        model_config("24.03")
