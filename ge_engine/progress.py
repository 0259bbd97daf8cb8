"""Progress: how what takes minutes tells how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]  # what is being done, how much is done, of how much
