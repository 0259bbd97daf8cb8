"""Operators: what GE's ONNX parser registers, by release of CANN. A table to warn by, never to refuse by.

The parser looks an operator up by domain, opset of the model and type, exactly. Source: the parser plugins of the open
GE releases (8.5.0 to 9.1.0), and the documentation of atc, which says opset 11 to 18. What is known of the binary
releases before them is what users report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ops import SpecError

NOT_REGISTERED = frozenset({
    "Attention", "BlackmanWindow", "CenterCropPad", "ConvInteger", "DFT", "DeformConv", "DequantizeLinear",
    "DynamicQuantizeLinear", "Gelu", "GroupNormalization", "HammingWindow", "HannWindow", "Loop", "MatMulInteger",
    "MelWeightMatrix", "NegativeLogLikelihoodLoss", "Optional", "OptionalGetElement", "OptionalHasElement",
    "QLinearConv", "QLinearMatMul", "QuantizeLinear", "RMSNormalization", "RNN", "RotaryEmbedding", "STFT", "Scan",
    "SequenceMap", "StringNormalizer", "Swish", "TensorScatter", "TfIdfVectorizer",
})  # fmt: skip
_SOME_OPSETS = {  # registered for these opsets only; most of the others are for 8 to 18
    "Mish": range(18, 19), "Col2Im": range(18, 19), "BitwiseAnd": range(18, 19), "BitwiseNot": range(18, 19),
    "BitwiseOr": range(18, 19), "BitwiseXor": range(18, 19), "LayerNormalization": range(17, 19),
    "CastLike": range(15, 19), "Bernoulli": range(15, 19), "HardSwish": range(14, 19), "Trilu": range(14, 19),
    "Resize": range(10, 19), "Mod": range(10, 19), "NonMaxSuppression": range(10, 19), "IsInf": range(10, 19),
    "NonZero": range(9, 19), "OneHot": range(9, 19), "Compress": range(9, 19), "Scatter": range(9, 12),
    "ReduceL1": range(8, 18), "ReduceL2": range(8, 18),
}  # fmt: skip

ON_HOST = frozenset({"Mod", "NonZero"})  # run by AI CPU, and break the graph into pieces
BY_DATA = frozenset({
    "Compress", "NonMaxSuppression", "NonZero", "SequenceAt", "StringSplit", "TfIdfVectorizer", "Unique",
})  # fmt: skip
CONTROL_FLOW = frozenset({"If", "Loop", "Scan", "SequenceMap"})
ARITHMETIC = frozenset({  # slow on integers of 64 bits; the first input is what they calculate with, others may be axes
    "Add", "Sub", "Mul", "Div", "MatMul", "Pow", "ReduceSum", "CumSum",
})  # fmt: skip
MAX_IR, MAX_OPSET = 11, 23  # of ONNX Runtime 1.23.2, with which the backend reads a file


@dataclass(frozen=True)
class Release:
    """A release of CANN. opsets: what its parser takes; source: who says so."""

    cann: str
    opsets: range
    source: str

    def unknown(self, operators: Iterable[str], opset: int) -> dict[str, str]:
        """Those of ONNX's operators that the parser does not know at this opset, and why."""
        found = {}
        for name in sorted(operators):
            some = _SOME_OPSETS.get(name)
            if name in NOT_REGISTERED:
                found[name] = "not registered"
            elif some is not None and opset in self.opsets and opset not in some:
                found[name] = f"registered for opset {_span(some)} only"
        return found

    @property
    def span(self) -> str:
        """The opsets as people write them."""
        return f"{self.opsets[0]} to {self.opsets[-1]}"


DOCUMENTED = Release("", range(8, 19), "GE's parser is documented for")
_REPORTED = "users report for CANN {}"
RELEASES = (  # oldest first
    Release("8.1.RC1", range(8, 14), _REPORTED.format("8.1.RC1")),
    Release("8.3.RC1", range(8, 18), _REPORTED.format("8.3.RC1")),
    Release("8.5.0", range(8, 19), "CANN 8.5.0 registers"),
    Release("9.0.0", range(8, 19), "CANN 9.0.0 registers"),
    Release("9.1.0", range(8, 19), "CANN 9.1.0 registers"),
)


def release_of(version: str | None) -> Release:
    """What is known of a release of CANN: its own row, or that of the one before it. Errors: SpecError.

    >>> release_of("8.3.RC2").opsets[-1], release_of("8.5.1").cann, release_of(None).opsets[-1]
    (17, '8.5.0', 18)
    """
    if version is None:
        return DOCUMENTED
    wanted = _order(version)
    if wanted is None:
        raise SpecError(f"{version!r} is no version of CANN", fix="write it as 8.5.0 or 8.3.RC1")
    older = [release for release in RELEASES if (_order(release.cann) or wanted) <= wanted]
    if not older:
        raise SpecError(
            f"nothing is known of CANN {version}", fix=f"the oldest release that is known is {RELEASES[0].cann}"
        )
    return older[-1]


def _order(version: str) -> tuple[int, int, int, int] | None:
    """Sorts releases; a candidate comes before its release."""
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(?:(\d+)|RC(\d+)))?(?:\..*)?", version.strip(), re.IGNORECASE)
    if match is None:
        return None
    major, minor, patch, candidate = match.groups()
    return int(major), int(minor), -1 if candidate else int(patch or 0), int(candidate or 0)


def _span(opsets: range) -> str:
    return str(opsets[0]) if len(opsets) == 1 else f"{opsets[0]} to {opsets[-1]}"
