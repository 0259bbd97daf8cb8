"""The vocabulary (specs, ops, edges, errors) and the ops. Needs numpy and cv2, nothing else."""

from .asset import Asset
from .errors import (
    BuildError,
    DeclarationError,
    DecodeError,
    DeviceError,
    Finding,
    GepipeError,
    ModelError,
    OpError,
    SampleError,
    SpecError,
    ValidationError,
)
from .normalize import Normalize
from .op import Builder, Edge, Op, Value
from .spec import ENCODED_IMAGE, TEXT, Array, Counted, Graded, TensorSpec
from .where import Where

__all__ = [
    "ENCODED_IMAGE",
    "TEXT",
    "Array",
    "Asset",
    "BuildError",
    "Builder",
    "Counted",
    "DeclarationError",
    "DecodeError",
    "DeviceError",
    "Edge",
    "Finding",
    "GepipeError",
    "Graded",
    "ModelError",
    "Normalize",
    "Op",
    "OpError",
    "SampleError",
    "SpecError",
    "TensorSpec",
    "ValidationError",
    "Value",
    "Where",
]
