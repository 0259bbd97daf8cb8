"""Report: a declaration under examination, and what has been found wrong with it so far."""

from __future__ import annotations

from ops import Finding, ValidationError, Where

from .declaration import Declaration, Entry, Node
from .names import name_entries


class Report:
    """What every check of validate reads, and where it adds its findings."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.entries = declaration.entries
        self.nodes = {i: entry for i, entry in enumerate(self.entries) if isinstance(entry, Node)}
        self.names = name_entries(self.entries)
        self.findings = list(declaration.findings)

    def add(self, rule: str, where: Where, message: str, fix: str, severity: str = "refused") -> None:
        self.findings.append(Finding(rule, severity, str(where), message, fix))

    def place(self, index: int) -> str:
        """What a message calls an entry: "node 'normalize' (Normalize)", "input 'image'"."""
        entry = self.entries[index]
        what = f"{kind(entry)} '{self.names[index]}'"
        return f"{what} ({type(entry.op).__name__})" if isinstance(entry, Node) else what

    def close(self) -> tuple[Finding, ...]:
        """The findings, where all are advice.

        Errors: ValidationError with all of them, in the order of the user's files.
        """
        findings = tuple(sorted(self.findings, key=_in_file_order))
        if any(finding.severity != "advice" for finding in findings):
            raise ValidationError(f"pipeline '{self.declaration.name}'", findings)
        return findings


def kind(entry: Entry) -> str:
    """input, constant or node."""
    return type(entry).__name__.lower()


def _in_file_order(finding: Finding) -> tuple[str, int]:
    file, _, line = finding.where.rpartition(":")
    return (file, int(line)) if line.isdigit() else (finding.where, 0)
