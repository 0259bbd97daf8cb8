"""Triton: model repositories made, read, judged and served."""
