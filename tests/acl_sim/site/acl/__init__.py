"""Module `acl` for a process of its own: this folder's parent is on PYTHONPATH. ACL_SIM holds the settings, as JSON."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from acl_sim.process import module

sys.modules[__name__] = module()
