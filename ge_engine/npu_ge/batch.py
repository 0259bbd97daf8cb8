"""Batch: the requests that Triton hands over together, merged where npu_ge merges them, each with its own answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Union

import numpy as np

from ops import Array, GepipeError

from .program import Arrays, Program
from .room import Room

Answer = Union[dict[str, Array], GepipeError]


class Work(NamedTuple):
    """What has been done so far. The server's own copies, into and out of shared memory, are not in it."""

    requests: int = 0
    failed: int = 0
    runs: int = 0
    nbytes_in: int = 0
    nbytes_out: int = 0

    def __str__(self) -> str:
        each = max(1, self.requests)
        return (
            f"{self.requests} requests ({self.failed} failed) in {self.runs} runs; bytes copied for each: "
            f"{self.nbytes_in / each:.0f} to merge inputs, {self.nbytes_out / each:.0f} to keep outputs"
        )


class Batcher:
    """Answers the requests of one batch. One batch at a time."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.work = Work()
        self._merged = Room()

    def answer(self, requests: Sequence[Arrays]) -> list[Answer]:
        """An answer for each request, or what went wrong with it alone.

        The arrays of an answer are good until the next call.
        """
        answers = self._together(requests) if len(requests) > 1 and self.program.setup.known.combines else None
        if answers is None:
            answers = [self._alone(request, keep=len(requests) > 1) for request in requests]
        failed = sum(isinstance(answer, GepipeError) for answer in answers)
        self._count(requests=len(requests), failed=failed)
        return answers

    def _together(self, requests: Sequence[Arrays]) -> list[Answer] | None:
        """All rows in one run; None where that fails: then each request shows by itself what is wrong with it."""
        ports = self.program.ports.inputs
        rows = [len(request[ports[0].name]) for request in requests]
        merged: dict[str, Array] = {}
        try:
            for port in ports:
                parts = [request[port.name] for request in requests]
                room = self._merged.of(port.name, port.dtype, (sum(rows), *parts[0].shape[1:]))
                merged[port.name] = np.concatenate(parts, out=room)
            outputs = self.program.run(merged)
        except (GepipeError, ValueError):
            return None
        self._count(runs=1, nbytes_in=sum(array.nbytes for array in merged.values()))
        ends = np.cumsum(rows).tolist()
        return [{name: array[end - count : end] for name, array in outputs.items()} for count, end in zip(rows, ends)]

    def _alone(self, request: Arrays, keep: bool) -> Answer:
        """keep: another run follows, which uses the memory of the outputs again."""
        try:
            outputs = self.program.run(request)
        except GepipeError as error:
            return error
        self._count(runs=1)
        if keep:
            outputs = {name: array.copy() for name, array in outputs.items()}
            self._count(nbytes_out=sum(array.nbytes for array in outputs.values()))
        return outputs

    def _count(self, **more: int) -> None:
        self.work = self.work._replace(**{name: getattr(self.work, name) + count for name, count in more.items()})
