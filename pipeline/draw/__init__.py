"""draw: a compiled pipeline as a picture, SVG or Mermaid."""

from .drawing import Drawing
from .mermaid import mermaid
from .svg import svg
from .times import Times, read_times

__all__ = ["Drawing", "Times", "mermaid", "read_times", "svg"]
