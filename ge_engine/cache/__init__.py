"""The compile cache: built stages on disk, found again by what they depend on.

folders.py (held, and swept up)  digests.py (files by content)  key.py (what a stage depends on)  manifest.py (a built
stage as JSON)  store.py (the entries)  cached.py (a stage from the cache, or built into it)
"""

from .cached import build_cached
from .folders import Held, cache_folder
from .store import Cache, Entry

__all__ = ["Cache", "Entry", "Held", "build_cached", "cache_folder"]
