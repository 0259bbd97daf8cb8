"""Texts of config.pbtxt, in every spelling, right and wrong."""

from __future__ import annotations

from hypothesis import strategies as st

SCALARS = {
    "name": '"n"', "platform": "'p'", "backend": '"" "b"', "max_batch_size": "8", "default_model_filename": r'"\"#\n"',
}  # fmt: skip
BLOCKS = {"input": "name", "output": "name", "instance_group": "name", "version_policy": None, "optimization": None}
separators = st.sampled_from(["", ",", ";"])
blanks = st.sampled_from([" ", "\n", "\t", ' # 中 { " \n', "\r\n"])


@st.composite
def configs(draw: st.DrawFn) -> str:
    """Right configs in every spelling, and (half of them) the same with one thing changed."""
    parts = []
    for name in draw(st.lists(st.sampled_from([*SCALARS, *BLOCKS]), max_size=5, unique=True)):
        if name in SCALARS:
            parts.append(f"{name}:{draw(blanks)}{SCALARS[name]}{draw(separators)}")
            continue
        inner = BLOCKS[name]
        body = f'{inner}:{draw(blanks)}"x"{draw(separators)}' if inner else ""
        if inner and draw(st.booleans()) and name != "instance_group":
            body += f" dims: [{draw(blanks)}{draw(st.sampled_from(['1', '1, -1', '']))} ]"
        opening, closing = draw(st.sampled_from(["{}", "<>"]))
        block = f"{opening}{draw(blanks)}{body}{closing}"
        if inner and draw(st.booleans()):
            block = f"[{draw(blanks)}{', '.join([block] * draw(st.integers(0, 2)))} ]"
        parts.append(f"{name}{draw(st.sampled_from([' ', ':', ' : ']))}{block}{draw(separators)}")
    text = draw(blanks).join(parts)
    if text and draw(st.booleans()):
        place = draw(st.integers(0, len(text) - 1))
        change = draw(st.sampled_from(["", "{", "}", "[", "]", "<", ">", '"', "'", ",", ";", ":", " ", "#", "-"]))
        text = text[:place] + change + text[place + draw(st.integers(0, 2)) :]
    return text
