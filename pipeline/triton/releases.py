"""Releases of Triton that a pipeline can be deployed to."""

DEFAULT_TARGET = "24.02"  # the release of the Ascend image
TARGETS = {"24.02": "2.43.0", "24.10": "2.51.0"}  # and the version that such a server says it is
