"""report_page: a pipeline on one HTML page that needs nothing else: no network, no script."""

from .content import Content
from .page import page

__all__ = ["Content", "page"]
