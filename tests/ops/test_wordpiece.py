from ops.wordpiece import WordPiece

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##able", "##aff", "##a", "##do", "a", "aa"]


def test_the_longest_token_wins_from_left_to_right() -> None:
    assert WordPiece(TOKENS).pieces("unaffable", limit=9) == [4, 6, 5]  # the example of BERT's README
    assert WordPiece(TOKENS).pieces("aaa", limit=9) == [10, 7]


def test_a_word_with_a_part_that_has_no_token_is_unknown_as_a_whole() -> None:
    assert WordPiece(TOKENS).pieces("unx undo", limit=9) == [1, 4, 8]


def test_the_limit_cuts_within_a_word() -> None:
    assert WordPiece(TOKENS).pieces("unaffable undo", limit=4) == [4, 6, 5, 4]
    assert WordPiece(TOKENS).pieces("undo", limit=0) == []


def test_what_is_remembered_is_bounded() -> None:
    wordpiece = WordPiece(TOKENS)
    for number in range(20_000):
        wordpiece.pieces(f"w{number}", limit=9)
    assert len(wordpiece._words) <= 1 << 14
    assert wordpiece.pieces("unaffable", limit=9) == [4, 6, 5]
