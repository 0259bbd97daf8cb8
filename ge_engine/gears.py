"""Gears: the grades of a graded static graph, and which one a batch runs in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ops import SpecError, TensorSpec
from ops.spec import LARGEST, is_size


@dataclass(frozen=True)
class Gear:
    """One grade: a batch size, and the size that named dims have (empty where the model has batch gears).

    index: which of the sizes it is; every Graded dim of the stage, of outputs too, has its value of that index.

    >>> str(Gear(4)), str(Gear(1, (("H", 640), ("W", 480))))
    ('4', '640x480')
    """

    batch: int
    dims: tuple[tuple[str, int], ...] = ()
    index: int = field(default=0, compare=False)

    def shape(self, spec: TensorSpec) -> tuple[int, ...]:
        """The whole shape of a tensor in this gear, batch axis first."""
        return (self.batch, *spec.at_gear(self.index))

    def with_batch(self, batch: int) -> Gear:
        return replace(self, batch=batch)

    def __str__(self) -> str:
        return "x".join(str(value) for _, value in self.dims) if self.dims else str(self.batch)


@dataclass(frozen=True)
class Gears:
    """Batch sizes in ascending order, or sizes (every one of them with batch 1).

    Errors: SpecError for anything but distinct whole numbers of at least 1.

    >>> [str(gear) for gear in Gears.of_batches((4, 1))]
    ['1', '4']
    >>> [str(gear) for gear in Gears.parse("224,224;336,336")]
    ['224x224', '336x336']
    """

    batches: tuple[int, ...]
    sizes: tuple[tuple[tuple[str, int], ...], ...] = ()

    @classmethod
    def of_batches(cls, batches: Sequence[int]) -> Gears:
        if not batches or not all(map(is_size, batches)) or len(set(batches)) != len(batches):
            raise SpecError(
                f"gears {tuple(batches)!r} are not distinct batch sizes",
                fix=f"give whole numbers from 1 to {LARGEST}, each once",
            )
        return cls(tuple(sorted(batches)))

    @classmethod
    def of_sizes(cls, sizes: Sequence[Sequence[int]], names: Sequence[str] = ("H", "W")) -> Gears:
        rows = [tuple(size) for size in sizes]
        sound = all(len(row) == len(names) and all(map(is_size, row)) for row in rows)
        if not rows or not sound or len(set(rows)) != len(rows):
            raise SpecError(
                f"sizes {tuple(rows)!r} are not distinct values of {', '.join(names)}",
                fix="give pairs (height, width) of whole numbers of at least 1, each once",
            )
        return cls((1,), tuple(tuple(zip(names, row)) for row in rows))

    @classmethod
    def parse(cls, text: str) -> Gears:
        """Batch sizes "1,2,4,8", or sizes "224,224;336,336"."""
        try:
            rows = [[int(number) for number in row.split(",")] for row in text.split(";")]
        except ValueError:
            raise SpecError(f"gears {text!r} are not numbers", fix='write "1,2,4,8" or "224,224;336,336"') from None
        return cls.of_batches(rows[0]) if len(rows) == 1 else cls.of_sizes(rows)

    @classmethod
    def of_specs(cls, specs: Sequence[TensorSpec], batches: Sequence[int]) -> Gears:
        """The gears of a stage with these inputs: its Graded dims if it has any, else the batch sizes.

        Errors: SpecError when two dims of one name, or two groups of sizes, do not belong together.
        """
        values: dict[str, tuple[int, ...]] = {}
        for spec in specs:
            for dim in spec.graded:
                if values.setdefault(dim.name, dim.values) != dim.values:
                    raise SpecError(f"{dim.name} has the sizes {values[dim.name]} and {dim.values}", fix="use one set")
        if not values:
            return cls.of_batches(batches)
        if len({len(column) for column in values.values()}) > 1:
            raise SpecError(f"the sizes {values} do not pair up", fix="let one op emit all sizes of a stage")
        return cls.of_sizes(list(zip(*values.values())), tuple(values))

    @property
    def largest(self) -> int:
        """The largest batch size."""
        return self.batches[-1]

    def __iter__(self) -> Iterator[Gear]:
        for index, dims in enumerate(self.sizes or ((),)):
            for batch in self.batches:
                yield Gear(batch, dims, index)

    def __len__(self) -> int:
        return len(self.batches) * max(1, len(self.sizes))

    def split(self, n: int, cost_us: Mapping[int, float]) -> tuple[int, ...]:
        """How many of n samples to run in each step, at least total cost; a step runs in the gear that pick gives.

        cost_us: the measured time of one step of each batch size.

        >>> Gears.of_batches((1, 4)).split(6, {1: 10, 4: 16})
        (4, 2)
        """
        return _split(self.batches, n, tuple(float(cost_us[batch]) for batch in self.batches)) if n else ()


def pick(batches: Sequence[int], n: int) -> int:
    """The smallest of these batch sizes (in ascending order) that holds n samples.

    >>> pick((1, 2, 4, 8), 3)
    4
    """
    assert 1 <= n <= batches[-1], (n, batches)
    return next(batch for batch in batches if batch >= n)


@lru_cache(maxsize=4096)
def _split(batches: tuple[int, ...], n: int, costs: tuple[float, ...]) -> tuple[int, ...]:
    cost = dict(zip(batches, costs))
    step = [cost[pick(batches, rows)] for rows in range(1, batches[-1] + 1)]
    best = [(0.0, 0, 0)]  # for each count: total cost, number of steps, rows of the last step
    for count in range(1, n + 1):
        options = (
            (best[count - rows][0] + step[rows - 1], best[count - rows][1] + 1, -rows)
            for rows in range(1, min(batches[-1], count) + 1)
        )
        total, steps, rows = min(options)
        best.append((total, steps, -rows))
    split = []
    while n:
        split.append(best[n][2])
        n -= best[n][2]
    return tuple(sorted(split, reverse=True))
