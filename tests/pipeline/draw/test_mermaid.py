from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
import tiny
from drawings import NASTY, made_up

from pipeline.draw import Drawing, mermaid
from pipeline.draw.drawing import Box, Frame
from pipeline.draw.mermaid import text

# What Mermaid's own documentation says of a flowchart: an id, a shape around a quoted text, an arrow with one.
LABEL = r'"[^"\n]*"'
NODE = rf"n\d+(\[{LABEL}\]|\(\[{LABEL}\]\))"
LINES = {
    "head": r"flowchart TD",
    "title": r"    acc(Title|Descr): [^\n]+",
    "node": rf" {{4,8}}{NODE}",
    "stage": rf"    subgraph s\d+\[{LABEL}\]",
    "end": r"    end",
    "wire": rf"    n\d+ -->\|{LABEL}\| n\d+",
    "style": r"    (classDef|class|style) [\w,]+ [\w:#,-]+",
}


def of_entities(label: str) -> str:
    """As a browser shows it: Mermaid writes an entity with # in place of &."""
    return html.unescape(
        re.sub(r"#(\d+|\w+);", lambda match: f"&{'#' if match[1].isdigit() else ''}{match[1]};", label)
    )


def test_a_plan_in_mermaid(tmp_path: Path) -> None:
    assert mermaid(Drawing.of(tiny.vector_pipeline(tmp_path).compile(gears=(1, 4)))).splitlines()[:17] == [
        "flowchart TD",
        "    accTitle: vector",
        "    accDescr: vector: x float32[8] -> y float32[4]. 2 nodes in the stages host0 then dense.",
        '    n0(["x"])',
        '    n3(["y"])',
        '    subgraph s0["host0, host"]',
        '        n1["Scale<br>scale"]',
        "    end",
        '    subgraph s1["dense, device, gears 1,4"]',
        '        n2["Model<br>dense"]',
        "    end",
        '    n0 -->|"float32[8]<br>32 B"| n1',
        '    n1 -->|"float32[8]<br>32 B"| n2',
        '    n2 -->|"float32[4]<br>16 B"| n3',
        "    classDef host fill:#eef4fb,stroke:#9dbcdc,color:#1c2733",
        "    classDef device fill:#fdf3e4,stroke:#dfb26f,color:#1c2733",
        "    classDef edge fill:#f2f3f5,stroke:#8b94a3,color:#1c2733",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_every_line_is_one_that_mermaid_knows_whatever_the_names(seed: int) -> None:
    for line in mermaid(made_up(seed)).splitlines():
        assert any(re.fullmatch(pattern, line) for pattern in LINES.values()), line


def test_gears_are_told_in_one_piece() -> None:
    frame = Frame("s", "device", 1, ("device", f"gears {','.join(map(str, range(1, 20)))}"))
    drawing = Drawing("t", "t", (Box("a", "device", "Model", "a", frame="s"),), (), (frame,))
    assert f'subgraph s0["s, device, gears {",".join(map(str, range(1, 20)))}"]' in mermaid(drawing)


def test_a_name_is_shown_as_it_is() -> None:
    assert of_entities(text(NASTY)) == NASTY
    assert not set('"<>&`') & set(text(NASTY))
