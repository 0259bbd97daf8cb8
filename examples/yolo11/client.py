"""Ask a server what is on pictures, and print it as detect.py does.

python client.py HOST:PORT [--grpc] [--async] [--shared-memory] [PICTURE ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

from ask import Array, Server, arguments_of
from tritonclient.utils import InferenceServerException

PHOTO = Path(__file__).resolve().parent / "weights" / "bus.jpg"


def lines(answer: dict[str, Array], labels: list[str]) -> list[str]:
    """One for each thing that was found. The outputs have room for 300; num_detections says how many there are."""
    count = int(answer["num_detections"][0])
    found = zip(answer["classes"][:count], answer["scores"], answer["boxes"])
    return [
        f"{labels[number]:12} {score:.3f}  [{', '.join(f'{value:.1f}' for value in box)}]"
        for number, score, box in found
    ]


def main() -> None:
    parser = arguments_of("Ask a server what is on pictures.")
    parser.add_argument("pictures", nargs="*", type=Path, metavar="PICTURE")
    how = vars(parser.parse_intermixed_args())
    pictures = how.pop("pictures") or [PHOTO]
    try:
        server = Server("yolo11", **how)
        labels = server.labels("yolo11n")
        answers = server.ask([{"image": path.read_bytes()} for path in pictures])
    except (OSError, InferenceServerException) as error:
        sys.exit(str(error))
    for path, answer in zip(pictures, answers):
        print(*([path] if len(pictures) > 1 else []), *lines(answer, labels), sep="\n")


if __name__ == "__main__":
    main()
