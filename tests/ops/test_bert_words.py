import random

import pytest
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from ops import unicode_tables
from ops.bert_words import words


def reference(text: str, lowercase: bool) -> list[str]:
    normalized = BertNormalizer(lowercase=lowercase).normalize_str(text)
    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(normalized)]


@pytest.mark.parametrize("lowercase", [True, False])
def test_every_code_point_between_letters_is_cut_as_tokenizers_does(lowercase: bool) -> None:
    """The planes with characters; test_unicode_tables looks at the rest."""
    points = [*range(0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)]
    for start in range(0, len(points), 256):
        text = "a".join(map(chr, points[start : start + 256]))
        assert words(text, lowercase) == reference(text, lowercase), f"{points[start]:X}"


def test_marks_come_in_the_order_that_nfd_gives_them() -> None:
    """Strings of marks that stay, that go, and of what lies between them."""
    rng = random.Random(5)
    rows = (unicode_tables.MARKS, unicode_tables.FENCES, *[" ".join(unicode_tables.REORDERED)] * 3)
    pools = [[chr(int(item.partition("-")[0], 16)) for item in row.split()] for row in rows]
    pools.append([chr(int(item.partition(":")[0], 16)) for item in unicode_tables.EXPANDED.split()])
    pools.append(list("aΣİ;각ß 你\u0f73\u0f76\u200d\x00\u3000"))
    for _ in range(5000):
        text = "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randrange(1, 14)))
        assert words(text, lowercase=True) == reference(text, lowercase=True), ascii(text)


def test_words_in_a_context_are_those_of_tokenizers() -> None:
    text = "ΟΔΟΣ İstanbul STRASSE Straße ｆｕｌｌ Ａ 가각 ก็ 杰尼龟\u3000E\u0301a\u2028don't≠\u037e"
    assert words(text, lowercase=True) == reference(text, lowercase=True)
    assert words(text, lowercase=False) == reference(text, lowercase=False)
