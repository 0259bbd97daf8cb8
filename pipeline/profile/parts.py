"""Parts: the spans that the time of a session is divided into, in the order in which a sample meets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from ..stages import paired

if TYPE_CHECKING:
    from ..plan import Plan

Kind = Literal["step", "run", "copy", "check", "wait", "request"]


class Part(NamedTuple):
    """What is timed: a step of a host stage, the run of a device stage, a copy, or a wait.

    node: the step's, or what is done. op: its class. where: the user's file and line.
    """

    kind: Kind
    stage: str
    node: str
    op: str = ""
    where: str = ""

    @property
    def works(self) -> bool:
        return self.kind not in ("wait", "request")


CHECK = Part("check", "", "check")
QUEUE = Part("wait", "", "queue")  # for others to make a batch with, and for a set of buffers
REQUEST = Part("request", "", "request")  # from its arrival to its answer, with all that follows
COPY_OUT = Part("copy", "", "copy out")


class Level(NamedTuple):
    """The parts of one level: of each sample on the host, and of each run on the device.

    The last on the host is the copy of what was not written in place, where a device stage follows. The first on the
    device is the wait for a stream.
    """

    host: tuple[Part, ...]
    device: tuple[Part, ...]


def levels(plan: Plan) -> Iterator[Level]:
    """In the order in which they run: a host stage, which may be absent, and the device stages that follow it."""
    for host, following in paired(plan.stages):
        device = [stage.name for stage in following]
        steps = host.steps if host else ()
        name = host.name if host else ""
        parts = [Part("step", name, step.name, type(step.op).__name__, step.where) for step in steps]
        waits = []
        if device:
            parts.append(Part("copy", name or device[0], "copy in"))
            waits.append(Part("wait", device[0], "wait for a stream"))
        runs = [Part("run", stage, "run") for stage in device]
        yield Level(tuple(parts), (*waits, *runs))
