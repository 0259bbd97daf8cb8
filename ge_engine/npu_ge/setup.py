"""Setup: a model that may be loaded. It is made once, or refused with every reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ops import Finding, SpecError, ValidationError

from .checks import check
from .gears import Gears, Shape
from .known import Known
from .options import Options
from .ports import Ports
from .sizes import Sizes

T = TypeVar("T")


@dataclass(frozen=True)
class Setup:
    """A model that npu_ge runs as it is meant; advice: what else there is to say about it."""

    known: Known
    sizes: Sizes
    advice: tuple[Finding, ...]

    @classmethod
    def of(cls, config: Mapping[str, Any], model: Ports, options: Options, *, auto_complete: bool = True) -> Setup:
        """A model's completed configuration, and what its file holds.

        Errors: ValidationError with every rule (V..) that it breaks.
        """
        findings = list(options.findings)
        gears = _collected(findings, lambda: Gears.of(options, model.inputs))
        known = Known.of(config, model, options, gears, auto_complete)
        findings += check(known)
        sizes = None
        if not _refused(findings):  # else the ports may not even pair up
            sizes = _collected(findings, lambda: Sizes.of(known.mode, known.config.outputs, model, gears))
        if sizes is None:
            raise ValidationError(f"model '{known.name}'", _refused(findings))
        return cls(known, sizes, tuple(findings))

    def output_shapes(self, inputs: Sequence[Shape]) -> list[Shape]:
        """The shape of each output for these whole shapes of the inputs.

        Errors: SpecError where they are no gear (E13025), or give an impossible size.
        """
        if self.known.gears is not None:
            self.known.gears.check(inputs, self.known.model.inputs)
        return self.sizes.shapes(inputs)


def _refused(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity != "advice"]


def _collected(findings: list[Finding], make: Callable[[], T]) -> T | None:
    try:
        return make()
    except SpecError as error:
        findings.append(Finding(error.rule, "fails", "config.pbtxt", error.message, error.fix))
        return None
