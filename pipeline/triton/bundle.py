"""Bundle: the wheels that a host stage needs, for a server whose Python has nothing but numpy."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from ops import ExportError

NEEDS = ("numpy", "opencv-python-headless")
WHEELS = ("opencv-python-headless==4.10.0.84",)  # the newest that takes numpy 1.23, which the Ascend image has
_FORM = re.compile(r"linux-(?P<machine>x86_64|aarch64)-cp(?P<python>3\d{1,2})")


def unpack_wheels(platform: str, folder: Path) -> None:
    """Fetch the wheels for a platform with pip, and unpack them into a folder.

    platform: as "linux-aarch64-cp310".
    Errors: ExportError for another form, or when pip cannot get them.
    """
    form = _FORM.fullmatch(platform)
    if form is None:
        raise ExportError(f"bundle {platform!r} is not a platform", fix="write it as linux-aarch64-cp310")
    with tempfile.TemporaryDirectory(prefix="gepipe-") as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--dest", place, "--python-version", form["python"], "--implementation", "cp"]
        for tag in ("manylinux2014", "manylinux_2_17", "manylinux_2_28"):
            command += ["--platform", f"{tag}_{form['machine']}"]
        done = subprocess.run([*command, *WHEELS], capture_output=True, text=True, check=False)
        wheels = sorted(Path(place).glob("*.whl"))
        if done.returncode or len(wheels) != len(WHEELS):
            raise ExportError(
                f"pip cannot get {', '.join(WHEELS)} for {platform}: {done.stderr.strip() or 'no wheel'}",
                fix="look at pip's words, or leave bundle out and install it on the server",
            )
        for wheel in wheels:
            zipfile.ZipFile(wheel).extractall(folder)
