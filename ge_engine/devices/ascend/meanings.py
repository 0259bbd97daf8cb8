"""Meanings: what the numbers that pyACL answers with stand for, and what to do."""

from __future__ import annotations

from typing import NamedTuple

REPEAT_INITIALIZE = 100002
NO_CONTEXT = 107002


class Meaning(NamedTuple):
    """What an error code says, and what to do."""

    text: str
    fix: str = ""


_MEMORY = "use smaller gears or fewer streams, or stop what else runs on the card: npu-smi info"
_REPORT = "report it: this is a fault in gepipe"
_CARD = "look at npu-smi info and the log in ~/ascend/log; the card may need a reset"
_GRAPH = "look at the log in ~/ascend/log/plog for the operator; try precision='origin' and a smaller gear"
_OTHER_CANN = "compile and run with the same CANN: gepipe cache clear, then open the session again"

MEANINGS = {
    100000: Meaning("invalid parameter", _REPORT),
    100001: Meaning("ACL is not initialised", _REPORT),
    REPEAT_INITIALIZE: Meaning("ACL is initialised already"),
    100003: Meaning("invalid file"),
    100011: Meaning("invalid model id", _REPORT),
    100016: Meaning("the model file does not match", _OTHER_CANN),
    100017: Meaning("an input does not match the model", _REPORT),
    100018: Meaning("an output does not match the model", _REPORT),
    100019: Meaning("the model has no gears", _REPORT),
    200000: Meaning("out of memory", _MEMORY),
    200001: Meaning("the call is not supported here", "use a newer CANN"),
    200002: Meaning("invalid device", _CARD),
    300000: Meaning("there is not enough of a resource", _MEMORY),
    500000: Meaning("unknown error", _CARD),
    500001: Meaning("the graph engine failed", _GRAPH),
    500002: Meaning("the runtime failed", _CARD),
    500003: Meaning("the driver failed", _CARD),
    500004: Meaning("profiling failed", _CARD),
    500005: Meaning("the runtime's tiling failed", _GRAPH),
    145000: Meaning("the model was not made by atc, or by that of another CANN", _OTHER_CANN),
    145013: Meaning("the batch size is not one of the model's gears", _REPORT),
    145014: Meaning("a size is not one of the model's gears", _REPORT),
    145015: Meaning("the dims are not one of the model's gears", _REPORT),
    107000: Meaning("invalid parameter", _REPORT),
    107001: Meaning("invalid device", "name a card that is there: npu-smi info"),
    NO_CONTEXT: Meaning("the thread has no context", _REPORT),
    107003: Meaning("the stream belongs to another context", _REPORT),
    107017: Meaning("invalid device", "name a card that is there: npu-smi info"),
    207000: Meaning("the card cannot do this", "use a newer CANN"),
    207001: Meaning("out of memory", _MEMORY),
    207003: Meaning("there is not enough of a resource, as streams or events", "use fewer streams"),
    507000: Meaning("internal error of the runtime", _CARD),
    507011: Meaning("the model failed while it ran, perhaps for want of memory", _GRAPH),
    507014: Meaning("an AI core took too long", _GRAPH),
    507015: Meaning("an AI core failed", _GRAPH),
    507018: Meaning("an AI CPU operator failed", _GRAPH),
    507033: Meaning("the card could not be opened", _CARD),
    507034: Meaning("a vector core took too long", _GRAPH),
    507035: Meaning("a vector core failed", _GRAPH),
    507046: Meaning("waiting for a stream took too long", _CARD),
    507899: Meaning("the driver failed", _CARD),
}


def meaning_of(code: int) -> Meaning:
    """The meaning of a code; what is not known is said to be."""
    return MEANINGS.get(code, Meaning("a code that gepipe does not know", "look it up in CANN's list of aclError"))
