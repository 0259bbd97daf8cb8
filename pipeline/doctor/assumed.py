"""Assumed: what gepipe takes for granted of a card, and no document says, tried out on it. A minute, most of it atc's.

Not tried, for it would do harm: that a context lives on after a fault in an AI core.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter as clock

import numpy as np

from ge_engine.devices import AscendDevice
from ge_engine.devices.ascend.card import Card
from ge_engine.devices.ascend.library import library
from ge_engine.devices.ascend.memory import H2D, pinned
from ge_engine.devices.ascend.stream import CardStream
from ge_engine.devices.base import Stream
from ge_engine.engine import Engine
from ops import Array, GepipeError, TensorSpec

from ..plan import Plan
from .check import Check
from .tiny_sum import cache_at, doubling

GEARS = (4, 1, 2)  # in the order in which they run: each while another is in flight
_ODD = {  # of no round number of bytes
    "a": TensorSpec("float32", (7,)),
    "b": TensorSpec("float16", (33,)),
    "c": TensorSpec("int32", (5,)),
}
_ROUNDS = 30
_COPY, _BEFORE, _BEHIND = 1 << 21, 8, 56  # bytes; how many copies before a wait, and how many behind it
_ATTEMPTS = 5
_REPORT = "report it, with this line and the versions above: gepipe was never run with such a card"


def assumed(numbers: Sequence[int]) -> Iterator[Check]:
    """Of the first of these cards, and of all of them together."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(cache_at(str(Path(folder) / "cache")))
        try:
            plan = doubling(Path(folder), _ODD).compile(gears=GEARS)
        except GepipeError as error:
            yield _failed(f"sizes npu:{numbers[0]}", error)
            return
        yield from _in_flight(plan, numbers[:1])
        if len(numbers) > 1:
            yield from _in_flight(plan, numbers)
    yield _tried(f"waiting npu:{numbers[0]}", lambda: _waits(numbers[0]))


def _in_flight(plan: Plan, numbers: Sequence[int]) -> Iterator[Check]:
    """That a model says the sizes that the stage has, or a little more, and answers for several batches at once."""
    name = f"npu:{','.join(map(str, numbers))}"
    with ExitStack() as stack:
        try:
            device = stack.enter_context(closing(AscendDevice(numbers)))
            lanes = [device.stream(index) for index in range(len(numbers) * device.in_flight)]
            loaded = Engine(next(iter(plan.built.values())), device, slots=len(lanes), largest=max(GEARS))
            engine = stack.enter_context(closing(loaded))
        except Exception as error:
            yield _failed(f"sizes {name}", error)
            return
        yield Check(f"sizes {name}", True, "a compiled model takes what the stage has, or a little more")
        yield _tried(f"batches at once {name}", lambda: _answers(engine, lanes))


def _answers(engine: Engine, lanes: Sequence[Stream]) -> str:
    """Errors: GepipeError; ValueError for wrong answers."""
    rng = np.random.default_rng(0)
    wrong = 0
    for turn in range(_ROUNDS):
        fed = []
        for slot, lane in enumerate(lanes):
            n = GEARS[(turn + slot) % len(GEARS)]
            fed.append((n, _filled(engine.inputs(slot).arrays, rng)))
            engine.outputs(slot).block.fill(0xFF)
            engine.enqueue(slot, n, lane)
        for slot, (lane, (n, values)) in enumerate(zip(lanes, fed)):
            lane.synchronize()
            wrong += not _doubled(engine.outputs(slot).arrays, values, n)
    if wrong:
        raise ValueError(
            f"{wrong} of {_ROUNDS * len(lanes)} batches have wrong answers, {len(lanes)} in flight at once"
        )
    return f"{_ROUNDS * len(lanes)} in {len(GEARS)} gears, {len(lanes)} in flight, all of them right"


def _filled(arrays: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:
    for array in arrays.values():
        array[:] = rng.integers(-100, 100, array.shape)
    return {name: array.copy() for name, array in arrays.items()}


def _doubled(outputs: Mapping[str, Array], values: Mapping[str, Array], n: int) -> bool:
    """By dtype, for each has one of its own."""
    wanted = {array.dtype: array[:n] * array.dtype.type(2) for array in values.values()}
    return all(np.array_equal(array[:n], wanted[array.dtype]) for array in outputs.values())


def _waits(number: int) -> str:
    """Whether who waits for a stream waits for what is put behind, too: then batches take turns less well."""
    card = Card(library(), number)
    with closing(card), card.current():
        part, stream, copy = card.part(), CardStream(card), card.library.do
        source, target = pinned(card, part, _COPY), card.malloc(part, _COPY)

        def put(count: int) -> None:
            for _ in range(count):
                copy("rt.memcpy_async", target, _COPY, source.ctypes.data, _COPY, H2D, stream.handle)

        shares = []
        for _ in range(_ATTEMPTS):
            shares.append(_waited(card, stream, put))
            if shares[-1] < 0.5:
                return "a wait is for what was put before it"
    return f"a wait lasts for {min(shares):.0%} of what is put behind it, too: two streams may do better than one"


def _waited(card: Card, stream: CardStream, put: Callable[[int], None]) -> float:
    """The time of a wait, as a share of that of all, most of which is put behind it."""
    begun = threading.Event()
    ends: list[float] = []

    def wait() -> None:
        with card.current():
            begun.set()
            stream.synchronize()
            ends.append(clock())

    put(_BEFORE)
    begin = clock()
    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    put(_BEHIND)
    stream.synchronize()
    end = clock()
    thread.join()
    return (ends[0] - begin) / (end - begin) if ends else 1.0


def _tried(name: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(name, True, attempt())
    except Exception as error:
        return _failed(name, error)


def _failed(name: str, error: Exception) -> Check:
    """Whatever it is, it is what doctor is asked for."""
    if isinstance(error, GepipeError):
        return Check(name, False, error.message, error.fix or _REPORT)
    return Check(name, False, str(error) or type(error).__name__, _REPORT)
