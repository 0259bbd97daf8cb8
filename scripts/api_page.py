"""The page of the Python API, docs/reference/api.md: the public names, taken from their docstrings."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rule_pages import plain

import ge_engine
import ops
import pipeline
from pipeline import compare, convert
from pipeline.triton import lint, repository, verify

PAGE = "reference/api.md"
INTRODUCTION = """\
# Python API

Three packages: `pipeline` (declare, compile, run, export), `ge_engine` (models and gears) and `ops` (specs, ops and
errors). The ops themselves are in [their table](../ops.md). All other modules are internal.
"""
PIPELINE = ("Pipeline", "Plan", "Session", "ExecutionContext", "Graph", "Deployment", "Batching", "validate")
STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
TRITON = (repository.export, repository.activate, lint.lint, verify.verify, verify.verify_url)


def pages() -> dict[str, str]:
    """By their paths in docs."""
    parts = [INTRODUCTION]
    for module, names in _public().items():
        parts.append(f"## {module}\n")
        parts += (_entry(f"{module}.{name}", value) for name, value in names.items())
    return {PAGE: "\n".join(parts)}


def _public() -> dict[str, dict[str, Any]]:
    """Of each heading, the names that it shows."""
    words = {name: getattr(ops, name) for name in ops.__all__ if not _is_particular_op(getattr(ops, name))}
    return {
        "pipeline": {**{name: getattr(pipeline, name) for name in PIPELINE}, **_others(pipeline, PIPELINE)},
        "pipeline.triton": {f"{_module(value)}.{value.__name__}": value for value in TRITON},
        "pipeline.compare": _others(compare, ()),
        "pipeline.convert": _others(convert, ()),
        "ge_engine": {name: getattr(ge_engine, name) for name in ge_engine.__all__},
        "ops": {name: value for name, value in words.items() if not _is_error(value)},
        "ops: errors": {name: value for name, value in words.items() if _is_error(value)},
    }


def _others(module: Any, shown: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(module, name) for name in module.__all__ if name not in shown}


def _module(value: Callable[..., Any]) -> str:
    return value.__module__.rpartition(".")[2]


def _is_particular_op(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, ops.Op) and value is not ops.Op


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _entry(name: str, value: Any) -> str:
    """A heading, the signature, and what the docstring says; of a class its methods, too."""
    name = name.replace("ops: errors.", "ops.")
    head = f"### {name} {{ #{name} }}\n"
    if not (inspect.isclass(value) or inspect.isfunction(value)):  # a constant, or a type
        return f"{head}\n`{value}`\n"
    call = "" if _is_error(value) else f"\n{_code(_call(name.rpartition('.')[2], value))}"
    methods = _methods(name, value) if inspect.isclass(value) and not _is_error(value) else ()
    return "\n".join([head + call, document(inspect.getdoc(value) or ""), *methods])


def _methods(name: str, cls: type[Any]) -> Iterator[str]:
    for short, value in vars(cls).items():
        function: Any = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if short.startswith("_") or not inspect.isfunction(inspect.unwrap(function)) or not function.__doc__:
            continue
        call = "" if isinstance(value, property) else f"{_code(_call(short, inspect.unwrap(function)))}\n"
        yield f"#### {short} {{ #{name}.{short} }}\n\n{call}{document(inspect.getdoc(function) or '')}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _call(name: str, value: Any) -> str:
    """As it is written, with its types; one argument a line where it is long."""
    try:
        signature = inspect.signature(value)
    except ValueError:
        return name
    words: list[str] = []
    seen_star = False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            words.append("*")
            seen_star = True
        star = STARS.get(parameter.kind.name, "")
        seen_star = seen_star or star == "*"
        words.append(f"{star}{parameter.name}{_type(': ', parameter.annotation)}{_default(parameter)}")
    result = "" if inspect.isclass(value) else _type(" -> ", signature.return_annotation)
    line = f"{name}({', '.join(words)}){result}"
    return line if len(line) <= 100 else "".join([f"{name}(\n", *(f"    {word},\n" for word in words), f"){result}"])


def _type(before: str, annotation: Any) -> str:
    return before + annotation if isinstance(annotation, str) else ""


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return ""
    shown = json.dumps(parameter.default) if isinstance(parameter.default, str) else repr(parameter.default)
    elsewhere = "<" in shown or sys.executable in shown  # made by a factory, an address, or of this machine
    return " = ..." if elsewhere else f" = {shown}"


def document(text: str) -> str:
    """A docstring as Markdown: its examples and its tables as they are, the rest as prose."""
    return "\n".join(map(_paragraph, re.split(r"\n\s*\n", text.strip())))


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if lines[0].lstrip().startswith(">>>"):
        return f"```pycon\n{text}\n```\n"
    if any(re.search(r"\S {2,}\S|^ +", line) for line in lines):  # columns
        return f"```text\n{text}\n```\n"
    lines = [re.sub(r"^([A-Z]\w+): ", r"**\1:** ", plain(line)) for line in lines]
    return "  \n".join("\n".join(lines).split("\n**")).replace("  \n", "  \n**") + "\n"
