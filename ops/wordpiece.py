"""WordPiece: words to the ids of a BERT vocabulary."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .bert_words import words

SPECIAL = ("[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]")
_MAX_WORD = 100  # a longer word is [UNK], as in BERT's own tokenizer
_MAX_WORDS = 1 << 14  # remembered; more than a language uses often


class WordPiece:
    """A vocabulary, one token a line; a token's id is its line. `##` marks what continues a word.

    A special token that stands in the text as it is written in the vocabulary is that token.

    >>> tokens = "[PAD] [UNK] [CLS] [SEP] un ##able ##do".split()
    >>> WordPiece(tokens).pieces("Undoable? [SEP]", limit=10)
    [4, 6, 5, 1, 3]
    """

    def __init__(self, tokens: Sequence[str], lowercase: bool = True) -> None:
        self.ids = {token: index for index, token in enumerate(tokens)}
        self._lowercase = lowercase
        self._longest = max(map(len, self.ids), default=0)
        self._special = re.compile("(" + "|".join(re.escape(token) for token in SPECIAL if token in self.ids) + ")")
        self._words: dict[str, tuple[int, ...]] = {}

    def pieces(self, text: str, limit: int) -> list[int]:
        """The ids of a text, `limit` at most, without [CLS] and [SEP] around them."""
        ids: list[int] = []
        for index, part in enumerate(self._special.split(text) if "[" in text else (text,)):
            if index % 2:
                ids.append(self.ids[part])
                continue
            for word in words(part, self._lowercase):
                ids += self._words.get(word) or self._cut(word)
                if len(ids) >= limit:
                    return ids[:limit]
        return ids[:limit]

    def _cut(self, word: str) -> tuple[int, ...]:
        """The longest tokens from left to right; [UNK] for the whole word if a part of it has none."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _MAX_WORD:
            mark = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self.ids.get(mark + word[start:end])
                if piece is not None:
                    found.append(piece)
                    start = end
                    break
            else:
                break
        ids = tuple(found) if start == len(word) else (self.ids["[UNK]"],)
        if len(self._words) >= _MAX_WORDS:
            self._words.clear()
        self._words[word] = ids
        return ids
