from __future__ import annotations

import pytest
from config_texts import configs
from google.protobuf import text_format
from hypothesis import given, settings
from lint_cases import CASES

from pipeline.triton.config import ConfigError, parse, to_text
from pipeline.triton.schema import model_config


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("max_batchsize: 3", (1, 1), 'Message type "inference.ModelConfig" has no field named "max_batchsize".'),
        ("input {\n  data_type: FP32\n}", (2, 14), 'Enum type "inference.DataType" has no value named FP32.'),
        ("\nmax_batch_size: 1.5", (2, 17), "Couldn't parse integer: 1.5"),
        ("dynamic_batching { }\nsequence_batching { }", (2, 1), 'another member of oneof "scheduling_choice"'),
        ('input [ { name: "x" }\noutput [ ]', (2, 1), 'Expected ",".'),
        ('name: "a\n', (1, 7), "String missing ending quote"),
        ("max_batch_size:\u00a04", (1, 16), "only ASCII stands there"),
        ("\ufeffname: 'a'", (1, 1), "a byte order mark (U+FEFF)"),
        ('name: "\\377"', (1, 13), "Couldn't parse string"),
    ],
)
def test_an_error_has_its_place_and_the_parsers_own_words(text: str, place: tuple[int, int], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == place
    assert reason in caught.value.reason
    assert caught.value.message.startswith(f"{place[0]}:{place[1]}: ")


def test_a_field_of_a_later_release_is_refused() -> None:
    text = 'input { name: "x" is_non_linear_format_io: true }'
    assert parse(text, "24.10").input[0].is_non_linear_format_io
    with pytest.raises(ConfigError, match="has no field named"):
        parse(text, "24.02")


def test_equal_messages_have_equal_text() -> None:
    first, second = (parse("".join(parts)) for parts in (PARAMETERS, reversed(PARAMETERS)))
    assert to_text(first) == to_text(second)
    assert to_text(first).count("parameters {") == len(PARAMETERS)


PARAMETERS = [f'parameters {{ key: "{key}" value {{ string_value: "{key}中" }} }}\n' for key in "bac"]


def test_text_reads_back() -> None:
    for case in CASES:
        if case.config is None or {"M01", "E08", "E17"} & set(case.rules):
            continue
        message = parse(case.config)
        assert parse(to_text(message)) == message


@settings(max_examples=300, deadline=None)
@given(configs())
def test_parse_takes_what_protobuf_takes(text: str) -> None:
    message = model_config()()
    try:
        text_format.Parse(text, message)
    except (text_format.ParseError, DeprecationWarning):  # the warning is of an escape that there is not
        with pytest.raises(ConfigError):
            parse(text)
    else:
        assert parse(text) == message


@pytest.mark.parametrize("number", ["99999999999", "-99999999999"])
def test_a_number_that_no_enum_can_have_is_refused_at_its_place(number: str) -> None:
    with pytest.raises(ConfigError, match=f"Value out of range: {number}") as caught:
        parse(f'name: "m"\ninput [ {{ data_type: TYPE_FP32 }},\n  {{ data_type: {number} }} ]')
    assert (caught.value.line, caught.value.column) == (3, 5)
