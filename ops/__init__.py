"""The vocabulary (specs, ops, edges, errors) and the ops. Needs numpy and cv2, nothing else."""

from .asset import Asset
from .cast import Cast
from .center_crop import CenterCrop
from .decode_image import DecodeImage
from .errors import (
    BuildError,
    DeclarationError,
    DecodeError,
    DeviceError,
    ExportError,
    Finding,
    GepipeError,
    ModelError,
    OpError,
    QueueError,
    SampleError,
    ServerError,
    SpecError,
    ValidationError,
    WrongUse,
)
from .l2_normalize import L2Normalize
from .letterbox import Letterbox
from .nms import NMS
from .normalize import Normalize
from .op import Builder, Edge, Op, Value
from .pad import Pad
from .resize import Resize
from .resize_crop import ResizeCrop
from .similarity import Similarity
from .softmax import Softmax
from .spec import ENCODED_IMAGE, TEXT, Array, Counted, Graded, TensorSpec
from .swap_channels import SwapChannels
from .tokenize import Tokenize
from .top_k import TopK
from .where import Where
from .yolo_boxes import YoloBoxes

__all__ = [
    "ENCODED_IMAGE",
    "NMS",
    "TEXT",
    "Array",
    "Asset",
    "BuildError",
    "Builder",
    "Cast",
    "CenterCrop",
    "Counted",
    "DeclarationError",
    "DecodeError",
    "DecodeImage",
    "DeviceError",
    "Edge",
    "ExportError",
    "Finding",
    "GepipeError",
    "Graded",
    "L2Normalize",
    "Letterbox",
    "ModelError",
    "Normalize",
    "Op",
    "OpError",
    "Pad",
    "QueueError",
    "Resize",
    "ResizeCrop",
    "SampleError",
    "ServerError",
    "Similarity",
    "Softmax",
    "SpecError",
    "SwapChannels",
    "TensorSpec",
    "Tokenize",
    "TopK",
    "ValidationError",
    "Value",
    "Where",
    "WrongUse",
    "YoloBoxes",
]
