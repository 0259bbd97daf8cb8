from __future__ import annotations

import onnx
import pytest

from ge_engine.inspect.operators import DOCUMENTED, NOT_REGISTERED, RELEASES, release_of
from ops import SpecError


def test_every_operator_of_the_table_is_onnxs_own() -> None:
    known = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""}
    newer = {"Attention", "RMSNormalization", "RotaryEmbedding", "Swish", "TensorScatter"}  # than the oldest onnx
    assert NOT_REGISTERED - newer <= known


@pytest.mark.parametrize(
    ("version", "row"),
    [
        ("8.1.RC1", "8.1.RC1"),
        ("8.2.RC1", "8.1.RC1"),
        ("8.3.RC1", "8.3.RC1"),
        ("8.3.0", "8.3.RC1"),
        ("8.5.0", "8.5.0"),
        ("8.5.0.alpha1", "8.5.0"),
        ("9.2.0", "9.1.0"),
    ],
)
def test_a_release_without_a_row_has_that_of_the_one_before_it(version: str, row: str) -> None:
    assert release_of(version).cann == row


def test_the_rows_are_in_order() -> None:
    assert [release_of(release.cann) for release in RELEASES] == list(RELEASES)
    assert release_of(None) is DOCUMENTED


def test_what_is_no_version_and_what_is_older_than_the_table() -> None:
    with pytest.raises(SpecError, match=r"'eight' is no version of CANN\nfix: write it as 8\.5\.0 or 8\.3\.RC1"):
        release_of("eight")
    with pytest.raises(
        SpecError, match=r"nothing is known of CANN 6\.3\nfix: the oldest release that is known is 8\.1"
    ):
        release_of("6.3")


def test_operators_are_looked_up_by_the_models_opset() -> None:
    assert DOCUMENTED.unknown(["Conv", "Gelu", "Trilu"], 17) == {"Gelu": "not registered"}
    assert DOCUMENTED.unknown(["Trilu"], 13) == {"Trilu": "registered for opset 14 to 18 only"}
    assert DOCUMENTED.unknown(["Mish"], 17) == {"Mish": "registered for opset 18 only"}
