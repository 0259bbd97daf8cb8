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
SYMPTOMS = (  # what one sees, what it often is, where to look; in Markdown
    (
        "wrong answers, also on the CPU",
        "a picture that is not prepared as in training: RGB or BGR, mean and std, resize and crop",
        "the lines marked CHECK in what `gepipe new` wrote; `gepipe run --dump DIR` keeps every value "
        "([Look inside](look-inside.md))",
    ),
    (
        "right answers on the CPU, wrong ones on the card",
        "fp16",
        "`gepipe compare graph.py --with fp16` ([Precision](precision.md))",
    ),
    (
        "a first call that takes long, and later ones that do not",
        "the pipeline was compiled; after that it is in the compile cache",
        "`gepipe cache list`; is `GEPIPE_CACHE` a folder that stays?",
    ),
    (
        "slower than hoped",
        "the host, or gears and streams that do not fit the traffic",
        "`gepipe bench`: which stage is busy, and which batches ran ([Tuning](tuning.md))",
    ),
    (
        "a request to `npu_ge` that is never answered",
        "a stream that was lost to a failed request",
        "the server's log, by `gepipe doctor --log FILE`; `gepipe lint DIR`",
    ),
    (
        "a model in `npu_ge` that is never ready",
        "a model before it failed, and all others wait",
        "the server's log, by `gepipe doctor --log FILE`; then restart the server",
    ),
)
HERE = Path(__file__).parent
MESSAGES = HERE / "messages.zh.json"  # of each meaning and remedy, what it is in Chinese
TITLES = HERE / "rules.zh.json"  # of each rule's title


@dataclass(frozen=True)
class Language:
    """What the page says in a language beside the messages themselves. words: meanings, remedies and titles in it."""

    page: str
    introduction: str
    no_message: str
    no_message_columns: str
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
- **No message**, but it is wrong, slow or stuck: see [Without a message](#without-a-message).
- **Nothing works at all**: `gepipe doctor` looks at the installation and at the NPU. On an Ascend machine, read
  [its page](../ascend.md) too.
""",
    "Without a message",
    "you see | often it is | look there",
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
- **没有任何信息**，但结果不对、速度慢或卡住：见[没有报错时](#without-a-message)。
- **完全跑不起来**：`gepipe doctor` 检查安装情况和 NPU。在昇腾服务器上还请看[昇腾服务器](../ascend.zh.md)一页。
""",
    "没有报错时",
    "现象 | 常见原因 | 排查办法",
    "按日志内容",
    "日志内容 | 含义 | 处理办法 | 规则",
    "按规则编号",
    "规则 | 要求",
)


def pages() -> dict[str, str]:
    """By their paths in docs."""
    words = {key: text for file in (MESSAGES, TITLES) for key, text in translated(file).items()}
    chinese = replace(TRANSLATED, words=words)
    return {language.page: _page(language) for language in (ENGLISH, chinese)}


def translated(file: Path) -> dict[str, str]:
    """Of each English text, the Chinese."""
    words: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return words


def _page(language: Language) -> str:
    parts = [f"{language.introduction}\n## {language.no_message} {{ #without-a-message }}\n\n"]
    parts.append(f"| {language.no_message_columns} |\n|---|---|---|\n")
    parts += (f"| {' | '.join(language.words.get(text, text) for text in row)} |\n" for row in SYMPTOMS)
    parts.append(f"\n## {language.by_line} {{ #by-line-of-a-log }}\n\n")
    for speaker, entries in TABLES.items():
        parts += [f"### {speaker}\n\n| {language.line_columns} |\n|---|---|---|---|\n"]
        parts += [*(_row(entry, language.words) for entry in entries), "\n"]
    parts.append(f"## {language.by_rule} {{ #by-rule }}\n\n| {language.rule_columns} |\n|---|---|\n")
    titles = ((rule.id, language.words.get(rule.title, rule.title)) for rule in BOOK.values())
    parts += (f"| {link(rule, RULES)} | {plain(title)} |\n" for rule, title in titles)
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
