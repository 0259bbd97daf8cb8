from __future__ import annotations

import doctest
import re

import api_page
import cli_page
import message_page
import pytest
import reference
import rule_pages

import ops
import pipeline
from pipeline.cli import COMMANDS, command
from pipeline.rulebook import BOOK
from pipeline.triton.log_doctor import explain_log

PAGES = reference.pages()
MADE = "docs/{} is out of date: run python scripts/reference.py"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_the_script_makes(page: str) -> None:
    assert (reference.DOCS / page).read_text(encoding="utf-8") == PAGES[page], MADE.format(page)


def test_no_page_of_the_reference_is_left_over() -> None:
    found = {path.relative_to(reference.DOCS).as_posix() for path in (reference.DOCS / "reference").rglob("*.md")}
    assert found == {page for page in PAGES if page.startswith("reference/")}


def test_each_rule_has_a_section_that_a_link_finds() -> None:
    for rule in BOOK.values():
        page, _, anchor = rule_pages.link(rule.id, rule_pages.FOLDER).partition("(")[2].rstrip(")").partition("#")
        assert f"## {rule.id}: " in PAGES[page]
        assert f"{{ #{anchor} }}" in PAGES[page]


def test_each_command_and_option_is_shown() -> None:
    page = PAGES[cli_page.PAGE]
    for name in COMMANDS:
        assert f"## gepipe {name}" in page
        for parameter in command(name).params if not hasattr(command(name), "commands") else ():
            if not getattr(parameter, "hidden", False) and parameter.param_type_name == "option":
                assert f"`{parameter.opts[-1]}" in page or parameter.name in ("help", "debug")


def test_each_public_name_is_shown_once() -> None:
    page = PAGES[api_page.PAGE]
    for module in (pipeline, ops):
        for name in module.__all__:
            if not api_page._is_particular_op(getattr(module, name)):
                assert page.count(f"### {module.__name__}.{name} {{ #") == 1


def test_a_docstring_keeps_its_examples_and_columns() -> None:
    text = "What it is: *all* of it.\n\nErrors: A, B.\n\nx  float32[n]  first\n\n>>> 1 + 1\n2"
    assert api_page.document(text) == (
        "What it is: \\*all\\* of it.\n\n**Errors:** A, B.\n\n"
        "```text\nx  float32[n]  first\n```\n\n```pycon\n>>> 1 + 1\n2\n```\n"
    )


def test_the_examples_of_the_scripts_run() -> None:
    assert doctest.testmod(message_page).attempted
    assert not doctest.testmod(message_page).failed


def test_a_message_that_the_page_shows_is_one_that_the_log_doctor_knows() -> None:
    for entries in message_page.TABLES.values():
        for entry in entries:
            for text in message_page.readable(entry.pattern):
                (found,) = explain_log([re.sub(r"\bN\b", "3", text).replace("...", "x")])
                assert found.entry == entry, text


def test_every_message_and_the_title_of_every_rule_is_translated() -> None:
    told = {text for row in message_page.SYMPTOMS for text in row}
    told |= {text for table in message_page.TABLES.values() for entry in table for text in (entry.meaning, entry.fix)}
    for file, wanted in ((message_page.MESSAGES, told), (message_page.TITLES, {rule.title for rule in BOOK.values()})):
        assert set(message_page.translated(file)) == wanted, f"{file.name} lacks some, or has some too many"
