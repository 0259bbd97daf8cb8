"""Colours: what tells the host from the device, in every picture: blue is the host, amber the device."""

from __future__ import annotations

from collections.abc import Mapping

# For areas, and for lines and slices on them; the text on either keeps a contrast of 4.5 and more.
LIGHT = {"host": "#eef4fb", "host-edge": "#9dbcdc", "device": "#fdf3e4", "device-edge": "#dfb26f"}
DARK = {"host": "#182433", "host-edge": "#3f648a", "device": "#2b2216", "device-edge": "#7f6130"}


def variables(colours: Mapping[str, str]) -> str:
    """As CSS defines them.

    >>> variables({"host": "#eef4fb"})
    '--host:#eef4fb;'
    """
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())
