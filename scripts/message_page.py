"""The page that explains messages, docs/how-to/troubleshooting.md: what logs say, and the rules; in Chinese, too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rule_pages import link, plain

from pipeline.rulebook import BOOK
from pipeline.triton.log_doctor import NPU_GE, TRITON, Entry
from pipeline.triton.log_of_cann import CANN

RULES = "../reference/rules"
TABLES = {
    "npu_ge": NPU_GE,
    "CANN, pyACL": tuple(Entry(*row) for row in CANN),
    "Triton": TRITON,
}
CHINESE = Path(__file__).with_name("messages.zh.json")  # of each meaning and remedy, what it is in Chinese


@dataclass(frozen=True)
class Language:
    """What the page says in a language beside the messages themselves. words: the meanings and remedies, translated."""

    page: str
    introduction: str
    by_line: str
    line_columns: str
    by_rule: str
    rule_columns: str
    words: Mapping[str, str] = field(default_factory=dict)


ENGLISH = Language(
    "how-to/troubleshooting.md",
    """\
# Troubleshooting by message

Start with what you see:

- **A finding** has a rule's number, as `G12` or `V17`. `gepipe rule G12` explains it. So does the table
  [by rule](#by-rule). Findings come from `gepipe check`, `gepipe lint`, and all commands that validate.
- **An error** ends with `fix:`. Do that first. `--debug` shows the traceback.
- **A log** of the server or of CANN: `gepipe doctor --log FILE` explains the lines that it knows. The tables
  [by line of a log](#by-line-of-a-log) hold the same.
- **Nothing works at all**: `gepipe doctor` looks at the installation and at the NPU. On an Ascend machine, read
  [its page](../ascend.md) too.
""",
    "By line of a log",
    "it says | it means | do this | rule",
    "By rule",
    "rule | what it asks",
)
TRANSLATED = Language(
    "how-to/troubleshooting.zh.md",
    """\
# 按报错信息排查

从看到的内容入手：

- **检查结果（finding）**带有规则编号，例如 `G12` 或
  `V17`。`gepipe rule G12` 解释这条规则，也可以查[规则表](#by-rule)。检查结果来自
  `gepipe check`、`gepipe lint`，以及所有会做校验的命令。
- **错误（error）**以 `fix:` 结尾，先照它说的做。`--debug` 显示调用栈。
- **日志**（服务器或 CANN 的）：`gepipe doctor --log FILE`
  解释它认识的每一行，[日志表](#by-line-of-a-log)的内容与它相同。
- **完全跑不起来**：`gepipe doctor` 检查安装情况和 NPU。在昇腾服务器上还请看[昇腾服务器](../ascend.md)一页。
""",
    "按日志内容",
    "日志内容 | 含义 | 处理办法 | 规则",
    "按规则编号",
    "规则 | 要求（英文）",
)


def pages() -> dict[str, str]:
    """By their paths in docs."""
    chinese = replace(TRANSLATED, words=json.loads(CHINESE.read_text(encoding="utf-8")))
    return {language.page: _page(language) for language in (ENGLISH, chinese)}


def _page(language: Language) -> str:
    parts = [f"{language.introduction}\n## {language.by_line} {{ #by-line-of-a-log }}\n\n"]
    for speaker, entries in TABLES.items():
        parts += [f"### {speaker}\n\n| {language.line_columns} |\n|---|---|---|---|\n"]
        parts += [*(_row(entry, language.words) for entry in entries), "\n"]
    parts.append(f"## {language.by_rule} {{ #by-rule }}\n\n| {language.rule_columns} |\n|---|---|\n")
    parts += (f"| {link(rule.id, RULES)} | {plain(rule.title)} |\n" for rule in BOOK.values())
    return "".join(parts)


def _row(entry: Entry, words: Mapping[str, str]) -> str:
    """words that are not translated yet stay as they are."""
    messages = "<br>".join(f"`{text}`" for text in readable(entry.pattern))
    rule = link(entry.rule, RULES) if entry.rule else ""
    meaning, fix = (plain(words.get(text, text)) for text in (entry.meaning, entry.fix))
    return f"| {messages} | {meaning} | {fix} | {rule} |\n"


def readable(pattern: str) -> list[str]:
    r"""The messages that a pattern of log lines stands for: N is a number, ... any words.

    >>> readable(r"E1004[56]|(a|b) at (\d+): .*is \bnot\b there\.")
    ['E10045', 'E10046', 'a at N: ... is not there.', 'b at N: ... is not there.']
    """
    text = re.sub(r"\(\?i?:", "(", pattern).replace(r"\b", "")
    for written, shown in (
        (r"\(?\\d\+\)?", "N"),
        (r"\(?\\w\+\)?", "..."),
        (r"(?<=')\.\*(?=')", "..."),
        (r" *\.\*\?? *", " ... "),
        (r"(?<=\w)\?", ""),
    ):
        text = re.sub(written, shown, text)
    return [re.sub(r"\\(.)", r"\1", each).strip() for part in _split(text) for each in _expanded(part)]


def _split(text: str) -> list[str]:
    """At each | that is in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _expanded(text: str) -> Iterator[str]:
    """One for each choice of its brackets."""
    choice = re.search(r"\(([^()]*)\)|\[([^\]]*)\]", text)
    if choice is None:
        yield text
        return
    for option in _split(choice[1]) if choice[1] is not None else _letters(choice[2]):
        yield from _expanded(text[: choice.start()] + option + text[choice.end() :])


def _letters(inside: str) -> str:
    span = re.fullmatch(r"(\d)-(\d)", inside)
    return "".join(map(str, range(int(span[1]), int(span[2]) + 1))) if span else inside
