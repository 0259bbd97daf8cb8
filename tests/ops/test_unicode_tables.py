import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tables_are_what_tokenizers_says_today() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "freeze_unicode_tables.py"))
    assert script["source"]() == (ROOT / "ops" / "unicode_tables.py").read_text(encoding="utf-8")
