"""Runs a host stage: its ops, in order, on one sample. The same code in a Session and in Triton."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from .article import kind
from .errors import GepipeError, OpError
from .op import Op
from .spec import Array, Counted, TensorSpec
from .where import Where


@dataclass(frozen=True)
class Step:
    """One node: which values it reads, which it makes, and where the user declared it.

    inputs are keys by the op's own input order; outputs maps a key to (the op's name for it, its spec).
    """

    name: str
    op: Op[Any]
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, str, TensorSpec], ...]
    where: str

    @property
    def place(self) -> str:
        return f"node '{self.name}' ({type(self.op).__name__}, {self.where})"


OnGear = Callable[[Step, int], None]


class HostStage:
    """The steps of one stage, ready to run.

    keep: the keys that are wanted after the stage; every other value is dropped after its last use, so that a decoded
    picture does not outlive its resize.
    """

    def __init__(self, steps: Sequence[Step], keep: frozenset[str]) -> None:
        _keep_freed_memory()
        self.steps = tuple(steps)
        made = {key for step in steps for key, _, _ in step.outputs}
        readers = Counter(key for step in steps for key in set(step.inputs))
        # The caller's own, the buffers', the constants, and what more than one step sees: no op may write there.
        others = {key for key, count in readers.items() if key not in made or key in keep or count > 1}
        self._runners = tuple(_Runner(step, others) for step in steps)
        last_use: dict[str, int] = {}
        for index, step in enumerate(steps):
            for key in (*step.inputs, *(output[0] for output in step.outputs)):
                last_use[key] = index
        self._drop = tuple(
            tuple(key for key, last in last_use.items() if last == index and key not in keep)
            for index in range(len(self.steps))
        )

    def run(
        self,
        values: dict[str, Any],
        out: Mapping[str, Array],
        on_gear: OnGear | None = None,
        times: list[float] | None = None,
        sizes: list[int] | None = None,
    ) -> int:
        """Add what the steps make to `values` (of one sample); the bytes that had to be copied.

        out: for a key, the array that must hold it: the op writes there, or its result is copied there.
        on_gear: told the size gear that a step is about to emit, in time to put the right row into `out`.
        times, sizes: after each step they get the clock (perf_counter), and the bytes that the step made.
        Errors: OpError, or the op's own GepipeError, with the node named.
        """
        copied = 0
        for runner, drop in zip(self._runners, self._drop):
            copied += runner.run(values, out, on_gear)
            if times is not None:
                times.append(perf_counter())
            if sizes is not None:
                sizes.append(sum(_nbytes(values[key]) for key, _, _ in runner.step.outputs))
            for key in drop:
                values.pop(key, None)
        return copied


@cache
def _keep_freed_memory() -> None:
    """Let a picture use the memory of the one before it, which makes decoding twice as fast.

    glibc returns a large block to the system when it is freed, and the next one costs a page fault for every 4 KiB.
    Once it has seen a block of up to 32 MiB freed, it keeps those that are smaller.
    """
    np.empty(31 << 20, np.uint8)


def _line_of(error: BaseException, op: Op[Any]) -> str:
    """The line of the op's own module that it comes from."""
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == type(op).__module__:
            line = f" ({Where(trace.tb_frame.f_code.co_filename, trace.tb_lineno)})"
        trace = trace.tb_next
    return line


_NONE: dict[str, Array] = {}


class _Runner:
    """A step with all that does not change from sample to sample looked up."""

    def __init__(self, step: Step, others: Set[str]) -> None:
        self.step = step
        self.inputs = tuple((key, key in others) for key in step.inputs)
        self.run_op = step.op.run
        parameters = inspect.signature(step.op.run).parameters
        self.takes_out = "out" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self.gear = getattr(step.op, "gear", None)
        self.single = step.op.output_names == ("",)
        self.checks = tuple(_Check(key, output, spec) for key, output, spec in step.outputs)

    def run(self, values: dict[str, Any], out: Mapping[str, Array], on_gear: OnGear | None) -> int:
        step = self.step
        arrays = [_locked(values[key]) if other else values[key] for key, other in self.inputs]
        try:
            if self.gear is not None and on_gear is not None:
                on_gear(step, self.gear(*arrays))
            targets = {check.output: out[check.key] for check in self.checks if check.key in out} if out else _NONE
            if not targets or not self.takes_out:
                result = self.run_op(*arrays)
            else:
                result = self.run_op(*arrays, out=targets[""] if self.single else targets)
        except GepipeError as error:
            raise error.at(step.place)  # noqa: B904  # the very same error, placed
        except (Exception, SystemExit) as error:  # an op that exits may not take the server with it
            raise OpError(
                f"{type(error).__name__}: {error}{_line_of(error, step.op)}",
                fix="look at the cause; the op or its input is at fault",
                where=step.place,
            ) from error
        results = (result,) if self.single else result
        if not isinstance(results, (tuple, list)) or len(results) != len(self.checks):
            count = len(results) if isinstance(results, (tuple, list)) else f"{kind(results)} for the"
            raise OpError(
                f"returned {count} outputs, declared {len(self.checks)}",
                fix="return what infer says",
                where=step.place,
            )
        copied = 0
        for check, value in zip(self.checks, results):
            fault = check.fault(value)
            if fault:
                raise OpError(fault, fix="make infer and run of this op agree", where=step.place)
            target = targets.get(check.output)
            if target is not None and not same_memory(value, target):
                if target.shape != value.shape:
                    raise OpError(f"made {value.shape}, the buffer row is {target.shape}", where=step.place)
                np.copyto(target, value, casting="no")
                copied += target.nbytes
                value = target
            values[check.key] = value
        return copied


def _nbytes(value: Any) -> int:
    return len(value) if isinstance(value, bytes) else int(value.nbytes)


def _locked(value: Any) -> Any:
    """An array as its reader may have it: read-only."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.setflags(write=False)
    return value


class _Check:
    """Whether a result is what infer promised."""

    def __init__(self, key: str, output: str, spec: TensorSpec) -> None:
        self.key = key
        self.output = output
        self.spec = spec
        self.dtype = spec.numpy
        self.shape = spec.shape if all(isinstance(dim, int) for dim in spec.shape) else None

    def fault(self, value: Any) -> str:
        spec = self.spec
        if not spec.shape:
            return "" if isinstance(value, bytes) else f"{self.what}{spec} is {kind(value)}, not bytes"
        if not isinstance(value, np.ndarray):
            return f"{self.what}{spec} is {kind(value)}, not an array"
        if value.dtype == self.dtype and (
            value.shape == self.shape or (self.shape is None and fits(value.shape, spec))
        ):
            return ""
        return f"{self.what}declared {spec}, made {value.dtype}{list(value.shape)}"

    @property
    def what(self) -> str:
        return f"output {self.output}: " if self.output else ""


def fits(shape: tuple[int, ...], spec: TensorSpec) -> bool:
    """Whether a sample of this shape is one that the spec allows; a name is any size, alike everywhere."""
    if len(shape) != spec.rank:
        return False
    named: dict[str, int] = {}
    for size, dim in zip(shape, spec.shape):
        if isinstance(dim, int):
            if size != dim:
                return False
        elif isinstance(dim, Counted):
            if size > dim.limit:
                return False
        elif isinstance(dim, str) and named.setdefault(dim, size) != size:
            return False
    graded = tuple(
        (size, dim.values) for size, dim in zip(shape, spec.shape) if not isinstance(dim, (int, str, Counted))
    )
    return not graded or any(all(size == values[gear] for size, values in graded) for gear in range(len(graded[0][1])))


def same_memory(a: Array, b: Array) -> bool:
    """Whether two arrays are one: address, shape, strides and dtype."""
    return a is b or (
        a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
        and a.shape == b.shape
        and a.strides == b.strides
        and a.dtype == b.dtype
    )
