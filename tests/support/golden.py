"""What Ultralytics prints for its photos with yolo11n: class (5 bus, 0 person, 27 tie), score, box (xyxy, pixels)."""

from __future__ import annotations

from typing import Any

BUS_640: tuple[Any, ...] = (
    (5, 0.939, (11.9, 228.4, 799.2, 735.2)),
    (0, 0.902, (48.6, 398.0, 243.2, 904.5)),
    (0, 0.849, (670.6, 392.6, 810.0, 879.6)),
    (0, 0.833, (223.1, 405.6, 345.2, 859.7)),
    (0, 0.399, (-0.1, 550.2, 66.0, 871.8)),
)
BUS_640_480: tuple[Any, ...] = (
    (5, 0.940, (3.8, 229.4, 796.2, 728.4)),
    *((0, 0.888), (0, 0.878), (0, 0.856), (0, 0.622)),  # their boxes are not published
)
ZIDANE_640: tuple[Any, ...] = ((0, 0.858), (0, 0.788), (27, 0.484))
