from __future__ import annotations

import pytest
from config_texts import configs
from google.protobuf import text_format
from hypothesis import example, given, settings

from pipeline.triton.outline import outline, unquoted
from pipeline.triton.schema import model_config

TEXT = """# 中文 { [ "
name: "a" 'b'; max_batch_size: 0x10,
input: [ {
    name: "x # no comment"
    dims: [ 3, -1 ] }, <name: "y">
]
parameters { key: "k" value { string_value: "{" } }
parameters: <key: "l" value: {}>
output []
"""


def test_every_field_has_its_line_and_column() -> None:
    root, broken = outline(TEXT)
    assert broken is None
    assert (root.find("name").line, root.string("name")) == (2, "ab")
    assert root.find("input", 0).line == 3
    assert (root.find("input", 0, "dims").line, root.find("input", 0, "dims").text) == (5, "3, -1")
    assert root.find("input", 0).string("name") == "x # no comment"
    assert (root.find("input", 1).line, root.find("input", 1).column) == (5, 24)
    assert root.find("parameters", 1).string("key") == "l"
    assert root.find("parameters", 1, "key").line == 8


def test_a_missing_field_is_found_at_the_nearest_block() -> None:
    root, _ = outline(TEXT)
    assert root.find("input", 1, "dims") is root.find("input", 1)
    assert root.find("nothing", "at", "all") is root


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("a {", "1:4", 'expected "}" to end the block of line 1'),
        ("a [ { }\n\n}", "3:1", 'expected "," or "]"'),
        ("a [ { }, ]", "1:10", 'expected "{", found "]"'),
        ("a: [ 1, ]", "1:9", 'expected a value, found "]"'),
        ("a [ 1 ]", "1:5", 'expected "{", found "1": a list of values needs ":" before its "["'),
        ("a 1", "1:3", 'expected ":", "{" or "["'),
        ("a: { b: 1 >", "1:11", 'expected a field, found ">"'),
        ("} a: 1", "1:1", 'expected a field, found "}"'),
        (r'a: "\q"', "1:4", "an escape in a string that there is not"),
        ('a: "b\n"', "1:4", "a string without its closing quote"),
        ("\ufeffa: 1", "1:1", "a byte order mark (U+FEFF)"),
        ("a:\u30001", "1:3", "'\\u3000' (U+3000) outside a string: only ASCII stands there"),
        ("a:\x001", "1:3", "a control character (U+0000)"),
    ],
)
def test_a_broken_text_says_where(text: str, place: str, reason: str) -> None:
    broken = outline(text)[1]
    assert broken is not None
    assert str(broken) == f"{place}: {reason}"


def test_what_stands_before_the_break_is_kept() -> None:
    root, broken = outline('name: "a"\ninput { dims: 3 }\noutput { name: }')
    assert broken is not None
    assert root.string("name") == "a"
    assert root.find("input", "dims").text == "3"


@pytest.mark.parametrize("opening", ["a {", "a [ {", "a <", "a: [ <", "[", "{"])
def test_depth_has_no_limit(opening: str) -> None:
    assert outline(opening * 20_000)[1] is not None


def test_strings_are_unescaped() -> None:
    assert unquoted(r'"a\"\n" "\344\270\255"') == 'a"\n中'
    assert unquoted(r'"\q"') == r'"\q"'
    assert unquoted("12") == "12"


@settings(max_examples=600, deadline=None)
@given(configs())
@example('backend: "" "b",\r\ninput [\r\n{ name:\r\n"x", dims [ 1 ]} ]\r\nname: "n"')
def test_the_grammar_is_that_of_protobuf(text: str) -> None:
    broken = outline(text)[1]
    reason = refusal(text)
    if broken is not None:
        assert reason
    else:  # which fields there are, and how often, is not the outline's business
        assert not any(words in reason for words in ("Expected ", "missing ending quote"))


def refusal(text: str) -> str:
    """Why protobuf does not take a text; its warning is of an escape that there is not."""
    try:
        text_format.Merge(text, model_config()())
    except (text_format.ParseError, DeprecationWarning) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("escape", ["\\344\\270\\255", "\\xff", "\\1", '\\"', "\\\\", "\\u4e2d", "a"])
@pytest.mark.parametrize("end", ["", "\\q'", "\n"])
def test_an_unclosed_string_of_many_escapes_is_read_once(escape: str, end: str) -> None:
    broken = outline(f'name: "{escape * 2000}{end}')[1]
    assert broken is not None
    assert broken.reason == "a string without its closing quote"


def test_many_blocks_are_found_without_a_search_for_each() -> None:
    root, broken = outline("input { name: 'x' }\n" * 20_000)
    assert broken is None
    assert [root.find("input", index).line for index in range(20_000)] == list(range(1, 20_001))
