"""Table: facts for people to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from ge_engine.inspect.facts import Facts
from ge_engine.inspect.file_facts import FileFacts
from ge_engine.inspect.gear_facts import GearFacts
from ge_engine.inspect.operators import DOCUMENTED, Release

from ..command import new_table
from ..draw.drawing import bytes_text
from .judge import axis_hint, label

_MOST_OPERATORS = 12
_MOST_CHAIN = 8


def lines(facts: Facts, streams: int, release: Release = DOCUMENTED) -> Iterator[Text | Table]:
    """What is printed, in order."""
    file = facts.file
    made = f", by {file.producer}" if file.producer else ""
    kind = f"IR {file.ir}, opset {file.opset}{_domains(file)}{made}" if file.ir else "a frozen TensorFlow graph"
    yield Text(f"{file.path}: {bytes_text(file.nbytes)}, {kind}")
    yield _ports(file)
    yield Text(f"operators: {_operators(file, release)}")
    yield Text(f"weights: {_weights(file)}")
    if facts.unsized:
        yield Text(f"no gears: the size of {', '.join(facts.unsized)} is not known; give it as --at {axis_hint(facts)}")
    if facts.gears:
        yield _gears(facts.gears)
        yield from _open(facts.gears)
        yield from _memory(facts, streams)


def _ports(file: FileFacts) -> Table:
    table = new_table("", "name", "type", "layout")
    for kind, ports in (("input", file.inputs), ("output", file.outputs)):
        for port in ports:
            table.add_row(kind, *map(Text, (port.name, str(port), port.layout)))
    return table


def _domains(file: FileFacts) -> str:
    return "".join(f", {domain} {version}" for domain, version in file.domains.items())


def _operators(file: FileFacts, release: Release) -> str:
    unknown = release.unknown(file.operators, file.opset)
    ranked = sorted(file.operators.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count} {name}{' (not known to GE)' if name in unknown else ''}" for name, count in ranked]
    more = f" and {len(shown) - _MOST_OPERATORS} more types" if len(shown) > _MOST_OPERATORS else ""
    return f"{file.num_nodes} nodes: {', '.join(shown[:_MOST_OPERATORS])}{more}"


def _weights(file: FileFacts) -> str:
    name, nbytes = file.largest_weight
    largest = f", the largest {name!r} with {bytes_text(nbytes)}" if nbytes else ""
    beside = "".join(
        f"; in {data.location}: {'missing' if data.nbytes is None else bytes_text(data.nbytes)}"
        + (f", {bytes_text(data.needed)} are needed" if (data.nbytes or 0) < data.needed else "")
        for data in file.data_files
    )
    return f"{bytes_text(file.weights)}{largest}{beside}"


def _gears(gears: Iterable[GearFacts]) -> Table:
    table = new_table("gear", "nodes", "GFLOPs", "in", "out", "peak", "moved", "open")
    for gear in gears:
        if gear.error:
            table.add_row(label(gear), Text(f"refused: {gear.error}", style="red"))
            continue
        flops = f"{'' if gear.flops is not None else 'over '}{gear.known_flops / 1e9:.3g}"
        sizes = (gear.input_bytes, gear.output_bytes, gear.peak, gear.moved)
        open_values = str(len(gear.dynamic)) if gear.dynamic else ""
        table.add_row(label(gear), str(gear.num_nodes), flops, *map(bytes_text, sizes), open_values)
    return table


def _open(gears: Iterable[GearFacts]) -> Iterator[Text]:
    """Of each node that leaves shapes open, the longest chain from it, at the first gear where it does."""
    shown: set[str] = set()
    for gear in gears:
        longest = {chain[0]: (name, chain) for name, chain in sorted(gear.dynamic.items(), key=lambda one: len(one[1]))}
        for cause, (name, chain) in longest.items():
            if cause not in shown:
                shown.add(cause)
                rest = f" > {len(chain) - _MOST_CHAIN + 1} more > {chain[-1]}" if len(chain) > _MOST_CHAIN else ""
                nodes = chain[: _MOST_CHAIN - 1] if rest else chain
                yield Text(f"open from gear {label(gear)} on: {name!r}, by {' > '.join(nodes)}{rest}")


def _memory(facts: Facts, streams: int) -> Iterator[Text]:
    total = facts.memory(streams)
    if total is not None:
        geared = sum(not gear.error for gear in facts.gears) > 1
        each = "for each stream the weights and the peak of the largest gear"
        held = each if geared else "the weights once, and for each stream the peak of the gear"
        what = f"{streams} stream{'s' if streams > 1 else ''}"
        yield Text(f"memory on a card with {what}: {bytes_text(total)} ({held})")
