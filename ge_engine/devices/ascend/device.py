"""The Ascend device: cards, through CANN's pyACL. What it runs was compiled by atc."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Sequence
from contextlib import ExitStack

from ops import DeviceError

from ...cores import Cores
from ...progress import Progress
from ...stage import BuiltStage
from .card import Card
from .lane import Lane
from .library import Library, finalize, library
from .program import AscendProgram
from .queue import Queue


class AscendDevice:
    """One or several cards, each with a number of streams.

    numbers: the cards. streams: of each card. cores: what a graph may use of a card. progress: told what is compiled.
    soc: what the cards are. A batch goes to the card, and there to the stream, that has the least to do.
    Errors: DeviceError where CANN or a card is missing; there is never a fallback to another device.
    """

    pads = True
    on_host = False
    in_flight = 2

    def __init__(
        self,
        numbers: Sequence[int] = (0,),
        streams: int = 1,
        cores: Cores = None,
        progress: Progress | None = None,
    ) -> None:
        self.name = f"npu:{','.join(map(str, numbers))}"
        self.cards = len(numbers)
        self._cores = cores
        self._progress = progress
        self._library = library()
        self.soc = _soc(self._library, numbers)
        self._opened: list[Card] = []
        self._troubles: list[DeviceError] = []
        # For a device that nobody closes, as that of a forgotten session. Its programs do not hold it.
        weakref.finalize(self, _close, self._opened).atexit = False
        _devices.add(self)
        try:
            self._lanes = self._open(numbers, streams)
        except BaseException:
            _close(self._opened)
            raise

    def _open(self, numbers: Sequence[int], streams: int) -> list[Lane]:
        for number in numbers:
            self._opened.append(Card(self._library, number))
        queues = []
        for index in range(streams):
            for card in self._opened:
                with card.current():
                    queues.append(Queue(card, index))
        lanes: list[Lane] = []
        for _ in range(self.in_flight):
            for queue in queues:
                with queue.card.current():
                    lanes.append(Lane(queue, len(lanes)))
        return lanes

    def stream(self, index: int) -> Lane:
        if index >= len(self._lanes):
            raise DeviceError(
                f"{self.name} was opened with {len(self._lanes)} lanes, {self.in_flight} a stream",
                fix="open it with as many streams as the deployment has: AscendDevice(streams=...)",
            )
        return self._lanes[index]

    def load(self, stage: BuiltStage, slots: int, rows: int) -> AscendProgram:
        self._library.check_process()
        if not self._opened:
            raise DeviceError(f"{self.name} is closed", fix="open another: plan.session()")
        if stage.frozen:
            raise DeviceError(
                f"stage '{stage.graph.name}' is a TensorFlow graph, which only npu_ge runs on a card",
                fix="export it, or make an ONNX file of it: gepipe convert",
            )
        from ...om import compile_stage  # it needs onnx, which is not everywhere where something runs

        files = compile_stage(stage, rows, self._cores, self.soc, self._progress)
        return AscendProgram(stage, files, self._lanes, slots, rows, self._troubles.extend)

    def close(self) -> None:
        """Give everything back.

        Errors: the first DeviceError of what a card refuses to take back, when all else is done.
        """
        troubles = [*self._troubles, *_close(self._opened)]
        self._troubles.clear()
        if troubles:
            raise troubles[0]


def _close(opened: list[Card]) -> list[DeviceError]:
    errors = []
    while opened:
        errors += opened[-1].close()
        opened.pop()
    return errors


def _soc(library: Library, numbers: Sequence[int]) -> str:
    """What the cards are, by their own word. Errors: DeviceError for a card that is not there."""
    count = library.get("rt.get_device_count")
    missing = [number for number in numbers if number >= count]
    if missing:
        raise DeviceError(
            f"there is no card {missing[0]}: this machine has {count}",
            fix=f"use npu:{' or npu:'.join(map(str, range(count)))}" if count else "look at npu-smi info",
        )
    soc = library.value("get_soc_name")
    if not soc:
        raise DeviceError("acl.get_soc_name does not say what the card is", fix="look at npu-smi info")
    return str(soc)


_devices: weakref.WeakSet[AscendDevice] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Before the driver's own end, and after that of the threads of `submit`, which register later."""
    with ExitStack() as all_of_them:  # also where one fails
        all_of_them.callback(finalize)
        for device in list(_devices):
            all_of_them.callback(device.close)
