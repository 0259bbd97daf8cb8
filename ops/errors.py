"""The exception family, and the one form of a finding.

GepipeError              anything this library refuses
├── DeclarationError     a wrong use that cannot wait for the report (raised at the user's line)
├── SpecError            specs or attributes that do not fit together (collected by validate)
├── SampleError          a sample that is not what the pipeline's inputs say
├── DecodeError          bytes that are not the image they should be
├── OpError              an op failed on a sample; the cause is chained
├── ModelError           a model file that cannot be used
├── BuildError           a stage that cannot be made a static graph
├── DeviceError          the runtime or the hardware failed
├── QueueError           a sample that never ran: the queue was full, or its time was over
├── ExportError          a plan that cannot be written as a model repository
├── ServerError          an inference server that cannot be found, started or asked
├── WrongUse             what was typed on the command line cannot be done
└── ValidationError      the report: every finding at once
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .spec import TensorSpec

SEVERITIES = ("refused", "fails", "advice")


class GepipeError(Exception):
    """What was wrong, where in the user's own file, and what to do."""

    def __init__(self, message: str, *, fix: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.where = where

    def at(self, where: str) -> GepipeError:
        """Say where, unless somebody closer to the fault already has."""
        self.where = self.where or where
        return self

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\nfix: {self.fix}" if self.fix else text


class DeclarationError(GepipeError):
    """A wrong use that cannot wait for the report."""


class SpecError(GepipeError):
    """Specs or attributes that do not fit together.

    input: the name of the input at fault, where it is one. rule: the rule it breaks, where it is not simply that an
    input's dims (G12) or the op's attributes (G13) do not fit. wanted: a spec that this input could have had instead,
    with which the rest can be looked at.
    """

    def __init__(
        self,
        message: str,
        *,
        fix: str = "",
        where: str = "",
        input: str = "",
        rule: str = "",
        wanted: TensorSpec | None = None,
    ) -> None:
        super().__init__(message, fix=fix, where=where)
        self.input = input
        self.rule = rule
        self.wanted = wanted


class SampleError(GepipeError):
    """A sample that is not what the pipeline's inputs say."""


class DecodeError(GepipeError):
    """Bytes that are not the image they should be."""


class OpError(GepipeError):
    """An op failed on a sample; the cause is chained."""


class ModelError(GepipeError):
    """A model file that cannot be used."""


class BuildError(GepipeError):
    """A stage that cannot be made a static graph."""


class DeviceError(GepipeError):
    """The runtime or the hardware failed."""


class QueueError(GepipeError):
    """A sample that never ran: the queue was full, or its time was over."""


class ServerError(GepipeError):
    """An inference server that cannot be found, started or asked."""


class ExportError(GepipeError):
    """A plan that cannot be written as a model repository."""


@dataclass(frozen=True)
class Finding:
    """One problem: its rule, how bad it is, its place, what was wrong and what to do.

    severity is "refused" (will not be taken), "fails" (is taken and misbehaves) or "advice".
    """

    rule: str
    severity: str
    where: str
    message: str
    fix: str

    def __post_init__(self) -> None:
        assert self.severity in SEVERITIES, self.severity

    def as_dict(self) -> dict[str, str]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.rule} {self.severity}  {self.where}: {self.message}\n    fix: {self.fix}"


class WrongUse(GepipeError):
    """What was typed on the command line cannot be done."""


class ValidationError(GepipeError):
    """The report: every finding at once, in the order of the user's file."""

    def __init__(self, subject: str, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        count = len(self.findings)
        lines = "\n".join(str(finding) for finding in self.findings)
        super().__init__(f"{subject}: {count} problem{'s' if count != 1 else ''}\n{lines}")
        self.subject = subject

    def __reduce__(self) -> tuple[Any, ...]:
        """An exception has to come back from a worker process."""
        return type(self), (self.subject, self.findings)
