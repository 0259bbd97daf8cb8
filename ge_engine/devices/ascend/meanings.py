"""Meanings: what the numbers that pyACL answers with stand for, and what to do."""

from __future__ import annotations

from typing import NamedTuple

REPEAT_INITIALIZE = 100002


class Meaning(NamedTuple):
    """What an error code says, and what to do."""

    text: str
    fix: str = ""


_MEMORY = "use smaller gears or fewer streams, or stop what else runs on the card: npu-smi info"
_FEWER = "use fewer streams, or stop what else runs on the card: npu-smi info"
_REPORT = "report it: this is a fault in gepipe"
_CARD = "look at npu-smi info and the log in ~/ascend/log; the card may need a reset"
_GRAPH = "look at the log in ~/ascend/log/plog for the operator; try precision='origin' and a smaller gear"
_OTHER_CANN = "compile and run with the same CANN: gepipe cache clear, then open the session again"
_NUMBER = "name a card that is there: npu-smi info"
_OLD = "update CANN and the driver"

MEANINGS = {
    # of ACL itself
    100000: Meaning("invalid parameter", _REPORT),
    100001: Meaning("ACL is not initialised", _REPORT),
    REPEAT_INITIALIZE: Meaning("ACL is initialised already", _REPORT),
    100003: Meaning("the file is not there, or cannot be read", _OTHER_CANN),
    100011: Meaning("there is no such model", _REPORT),
    100012: Meaning("the model cannot be read; it may be of another CANN", _OTHER_CANN),
    100013: Meaning("the model cannot be parsed; it may be of another CANN", _OTHER_CANN),
    100014: Meaning("the model's file cannot be read", _OTHER_CANN),
    100015: Meaning("the model's file is damaged", _OTHER_CANN),
    100016: Meaning("the model lacks something; it may be of another CANN", _OTHER_CANN),
    100017: Meaning("an input does not match the model", _REPORT),
    100018: Meaning("an output does not match the model", _REPORT),
    100019: Meaning("the model has no gears", _REPORT),
    100039: Meaning(
        "the library is a stub to compile against", "put the driver's libraries on LD_LIBRARY_PATH, before any `stub`"
    ),
    148049: Meaning("ASCEND_OPP_PATH is not set, or wrong", "source the set_env.sh of the CANN toolkit"),
    200000: Meaning("out of memory", _MEMORY),
    200001: Meaning("the call is not supported here", _OLD),
    200002: Meaning("invalid device", _NUMBER),
    200003: Meaning("an address is not aligned", _REPORT),
    200006: Meaning("not supported here", _OLD),
    300000: Meaning("there is no room", _MEMORY),
    500000: Meaning("unknown internal error", _CARD),
    500001: Meaning("internal error", _CARD),
    500002: Meaning("the graph engine failed", _GRAPH),
    500003: Meaning("the runtime failed", _CARD),
    500004: Meaning("the driver failed", _CARD),
    500005: Meaning("profiling failed", _CARD),
    # of the runtime
    107000: Meaning("invalid parameter", _REPORT),
    107001: Meaning("invalid device", _NUMBER),
    107002: Meaning("the thread has no context", _REPORT),
    107003: Meaning("the stream belongs to another context", _REPORT),
    107004: Meaning("the model belongs to another context", _REPORT),
    107017: Meaning("invalid handle", _REPORT),
    107019: Meaning("waiting took too long", _CARD),
    107020: Meaning("the task took too long", _CARD),
    207000: Meaning("the card cannot do this", _OLD),
    207001: Meaning("out of memory", _MEMORY),
    207003: Meaning("numbers overflow in an AI core", _GRAPH),
    207004: Meaning("the card is not available", _CARD),
    207005: Meaning("there is not enough of a resource", _FEWER),
    207006: Meaning("not permitted", "add the user to the driver's group, HwHiAiUser"),
    207007: Meaning("there are no events left", _FEWER),
    207008: Meaning("there are no streams left", _FEWER),
    207010: Meaning("there is no room for another model", _FEWER),
    207018: Meaning("the card is out of memory", _MEMORY),
    507000: Meaning("internal error of the runtime", _CARD),
    507010: Meaning("the card's scheduler does not answer", _CARD),
    507011: Meaning("the model failed while it ran, perhaps for want of memory", _GRAPH),
    507013: Meaning("a transfer failed", _CARD),
    507014: Meaning("an AI core took too long", _GRAPH),
    507015: Meaning("an AI core failed", _GRAPH),
    507017: Meaning("an AI CPU operator took too long", _GRAPH),
    507018: Meaning("an AI CPU operator failed", _GRAPH),
    507033: Meaning("the card could not be started", _CARD),
    507034: Meaning("a vector core took too long", _GRAPH),
    507035: Meaning("a vector core failed", _GRAPH),
    507046: Meaning("waiting for a stream took too long", _CARD),
    507053: Meaning("the card's memory has a fault", _CARD),
    507054: Meaning("the card's memory has a fault", _CARD),
    507899: Meaning("the driver failed", _CARD),
    # of the graph engine
    145000: Meaning("invalid parameter", _REPORT),
    145002: Meaning("the model's file is not there", _OTHER_CANN),
    145003: Meaning("there is no such model", _REPORT),
    145006: Meaning("the model's file is damaged", _OTHER_CANN),
    145011: Meaning("the input that says the gear is not in the card's memory", _REPORT),
    145012: Meaning("the input that says the gear is too small", _REPORT),
    145013: Meaning("this is not one of the model's gears", _REPORT),
    245000: Meaning("out of memory", _MEMORY),
    245002: Meaning("the card is out of memory", _MEMORY),
    545000: Meaning("internal error of the graph engine", _GRAPH),
    545001: Meaning("the model could not be loaded", _OTHER_CANN),
    545601: Meaning("the model took too long", _GRAPH),
}


def meaning_of(code: int) -> Meaning:
    """The meaning of a code; what is not known is said to be."""
    return MEANINGS.get(code, Meaning("a code that gepipe does not know", "look it up in CANN's list of aclError"))
