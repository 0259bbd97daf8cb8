from __future__ import annotations

import re

from lint_cases import CASES

from pipeline.inspect.rules import INSPECT_RULES
from pipeline.rulebook import BOOK
from pipeline.rules import RULES
from pipeline.triton.rulebook import TRITON_RULES

CONTRACT = (
    *(f"E{number:02}" for number in (*range(1, 18), *range(20, 24), *range(30, 37))),
    *(f"M{number:02}" for number in (*range(1, 12), *range(20, 37))),
    *(f"R{number:02}" for number in range(1, 12)),
    *(f"L{number:02}" for number in range(1, 23)),
    *(f"V{number:02}" for number in range(1, 32)),
)


def test_every_rule_stands_in_the_one_lookup() -> None:
    assert set(CONTRACT) <= set(BOOK)
    others = [rule.id for rule in (*INSPECT_RULES, *TRITON_RULES)]
    assert set(BOOK) == set(RULES) | set(others)
    assert len(BOOK) == len(RULES) + len(others)


def test_a_rule_says_what_it_asks_why_and_shows_both_ways() -> None:
    for rule in (*INSPECT_RULES, *TRITON_RULES):
        assert re.fullmatch(r"[EIMRLV]\d\d", rule.id)
        assert all((rule.title, rule.why, rule.bad, rule.good)), rule.id
        assert rule.bad != rule.good


# What no release in reach knows (M11), and what lint says elsewhere.
ELSEWHERE = {"M11", "M21", "M22", "M34", "L08", "L11", "L12", "L14", "L16", "L20", "L21", "L22"}


def test_every_rule_of_the_repository_has_a_case() -> None:
    tried = {rule for case in CASES for rule in case.rules} | ELSEWHERE
    assert {rule.id for rule in TRITON_RULES if rule.id[0] in "EML"} <= tried
