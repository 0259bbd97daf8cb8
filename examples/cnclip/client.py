"""Ask a server how alike pictures and a Chinese sentence are.

python client.py HOST:PORT [--grpc] [--async] [--shared-memory] [--text 一只猫] [PICTURE ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from ask import Server, arguments_of
from tritonclient.utils import InferenceServerException

PICTURE = Path(__file__).resolve().parent / "weights" / "chelsea.png"


def main() -> None:
    parser = arguments_of("Ask a server how alike pictures and a sentence are.")
    parser.add_argument("--text", default="一只猫", help="the sentence")
    parser.add_argument("pictures", nargs="*", type=Path, metavar="PICTURE")
    how = vars(parser.parse_intermixed_args())
    text, pictures = how.pop("text"), how.pop("pictures") or [PICTURE]
    samples = [{"image": path.read_bytes(), "text": text.encode()} for path in pictures]
    try:
        answers = Server("cnclip", **how).ask(samples)
    except (OSError, InferenceServerException) as error:
        sys.exit(str(error))
    for path, answer in zip(pictures, answers):
        print(f"{answer['similarity'][0]:.4f}  {text}  {path.stem}")


if __name__ == "__main__":
    main()
