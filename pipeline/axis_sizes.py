"""Axis sizes: what `--at` says of the axes that vary, beside the batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Optional

import typer

from ops import WrongUse

_FORM = 'write it as "height=640,width=640"'
_ANY = 128  # most pictures and texts may be so large

At = Annotated[
    Optional[list[str]],
    typer.Option(
        "--at",
        metavar="SIZES",
        help='Of the other axes that vary, by name or place: "height=640,width=640", "x.2=640"; again for more sizes.',
    ),
]


def axis_sizes(texts: Sequence[str]) -> tuple[Mapping[str, int], ...]:
    """The sizes of each --at, which all name the same axes. Errors: WrongUse.

    >>> axis_sizes(["height=64,width=80"])
    ({'height': 64, 'width': 80},)
    """
    found = []
    for text in texts:
        size = {}
        for part in text.split(","):
            name, equals, value = part.strip().rpartition("=")
            if not equals or not name or not value.isascii() or not value.isdigit() or int(value) < 1:
                raise WrongUse(f"--at {text!r}: {part!r} is no size", fix=_FORM)
            if name in size:
                raise WrongUse(f"--at {text!r} gives {name} twice", fix="for more sizes write --at again")
            size[name] = int(value)
        found.append(size)
    if len({frozenset(size) for size in found}) > 1:
        fix = f"give each axis in each of them: --at {at_text(dict(pair for size in found for pair in size.items()))}"
        raise WrongUse(f"the sizes of --at name different axes: {', '.join(texts)}", fix=fix)
    return tuple(found)


def at_text(sizes: Mapping[str, int]) -> str:
    """As --at takes it.

    >>> at_text({"height": 64, "width": 80})
    'height=64,width=80'
    """
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def unsized(names: Iterable[str]) -> WrongUse:
    """What to say of axes whose sizes nobody gave: all of them at once."""
    axes = dict.fromkeys(names, _ANY)
    vary = "varies, and its size is" if len(axes) == 1 else "vary, and their sizes are"
    return WrongUse(f"{', '.join(axes)} {vary} not known", fix=f"give what the model takes, as --at {at_text(axes)}")
