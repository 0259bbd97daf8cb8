"""The one lookup of rules: declarations (G), model files (I), and Triton repositories (E, M, R, L and V)."""

from __future__ import annotations

from .inspect.rules import INSPECT_RULES
from .rules import RULES
from .triton.rulebook import TRITON_RULES

BOOK = {**RULES, **{rule.id: rule for rule in (*INSPECT_RULES, *TRITON_RULES)}}
