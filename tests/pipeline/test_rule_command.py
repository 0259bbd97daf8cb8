from __future__ import annotations

import json

from command_line import gepipe

from pipeline.rules import RULES


def test_rule_explains_one_or_lists_all() -> None:
    result = gepipe("rule", "g04")
    assert result.exit_code == 0
    for text in ("G04", RULES["G04"].title, "bad:", "good:"):
        assert text in result.stdout
    listed = gepipe("rule").stdout
    assert all(rule in listed for rule in RULES)
    assert json.loads(gepipe("rule", "G04", "--json").stdout) == {"rules": [vars(RULES["G04"])]}
