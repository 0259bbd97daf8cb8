"""Violation: client code broke a rule that a card would not have told it about."""

from __future__ import annotations


class Violation(AssertionError):
    """rule: its number, S1 to S16. The world keeps it too, as client code may catch this one."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
