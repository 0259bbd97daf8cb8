"""The one lookup of rules: declarations (G), and Triton repositories (E, M, R, L and V)."""

from __future__ import annotations

from .rules import RULES
from .triton.rulebook import TRITON_RULES

BOOK = {**RULES, **{rule.id: rule for rule in TRITON_RULES}}
