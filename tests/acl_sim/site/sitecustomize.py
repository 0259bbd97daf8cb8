"""Python runs this as it starts: what is registered now runs last, behind all that a program does at its end."""

import atexit
import sys


@atexit.register
def _report() -> None:
    if "acl_sim.process" in sys.modules:
        sys.modules["acl_sim.process"].report_all()
