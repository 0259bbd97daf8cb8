"""The pages of the rule book, docs/reference/rules/*.md: a section a rule, taken from pipeline/rulebook.py."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import indent

from pipeline.rulebook import BOOK
from pipeline.rules import Rule

FOLDER = "reference/rules"
GROUPS = {  # the first letter of an id: the page, its title, and what its rules are about
    "G": ("pipelines", "Pipelines", "What a declaration has to keep. `gepipe check` looks at these."),
    "I": ("model_files", "Model files", "What a model file has to keep, for an NPU. `gepipe inspect` looks at these."),
    "E": ("ensembles", "Ensembles", "What Triton asks of an ensemble. A server refuses one that breaks these."),
    "M": ("models", "Models", "What Triton asks of each model's folder and config."),
    "R": ("requests", "Requests", "What a server answers only when it is asked: the model loads all the same."),
    "L": ("advice", "Advice", "What Triton lets pass: it loads, and then it fails, hangs or surprises."),
    "V": ("npu_ge", "npu_ge", "What the `npu_ge` backend takes for granted, and neither it nor Triton checks."),
}  # fmt: skip
INTRODUCTION = """\
# Rule book

Every finding names its rule. `gepipe rule V17` prints one; these pages hold all of them.

A finding has one of three severities. `refused`: the server or the compiler does not take it. `fails`: it loads, and
then it fails or misbehaves. `advice`: it works, and could be better. The first two end a command with exit code 1;
`--strict` counts advice, too.

| page | rules | about |
|---|---|---|
"""


def pages() -> dict[str, str]:
    """By their paths in docs."""
    of_group = {letter: [rule for rule in BOOK.values() if rule.id[0] == letter] for letter in GROUPS}
    assert sum(map(len, of_group.values())) == len(BOOK), "a rule of no group"
    rows = (
        f"| [{title}]({name}.md) | {of_group[letter][0].id} to {of_group[letter][-1].id} | {about} |\n"
        for letter, (name, title, about) in GROUPS.items()
    )
    found = {f"{FOLDER}/index.md": INTRODUCTION + "".join(rows)}
    for letter, (name, title, about) in GROUPS.items():
        found[f"{FOLDER}/{name}.md"] = f"# {title}\n\n{about}\n\n{_sections(of_group[letter])}"
    return found


def link(rule_id: str, start: str) -> str:
    """To a rule's section; start: where the rule pages are, from the page that links."""
    return f"[{rule_id}]({start}/{GROUPS[rule_id[0]][0]}.md#{rule_id.lower()})"


def plain(text: str) -> str:
    """Markdown that shows the text as it is, but for its `code`."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_\[\]#|])", r"\\\1", text).replace("<", "&lt;")


def _sections(rules: Iterable[Rule]) -> str:
    return "\n".join(map(_section, rules))


def _section(rule: Rule) -> str:
    language = "python" if rule.id.startswith("G") else "text"
    shown = (
        f'!!! {kind} "{title}"\n\n{indent(f"```{language}{chr(10)}{code}{chr(10)}```", "    ")}\n'
        for kind, title, code in (("failure", "bad", rule.bad), ("success", "good", rule.good))
    )
    return f"## {rule.id}: {plain(rule.title)} {{ #{rule.id.lower()} }}\n\n{plain(rule.why)}\n\n" + "\n".join(shown)
