"""The errors of atc that the simulator raises: codes and texts of GE's table."""

from __future__ import annotations

TEXTS = {
    "E10001": "Value {} for parameter {} is invalid. Reason: {}",
    "E10002": "Value {} for parameter --input_shape is invalid. Reason: {}. The value must be formatted as {}.",
    "E10003": "Value {} for parameter --{} is invalid. Reason: {}",
    "E10007": "--{} is required. The value must be {}.",
    "E10006": "Value {} for parameter --{} is invalid. The value must be either 1 or 0.",
    "E10009": "--dynamic_batch_size, --dynamic_image_size, --input_shape_range, and --dynamic_dims are mutually "
    "exclusive.",
    "E10010": "Value {} for parameter --log is invalid.",
    "E10011": "Value {} for parameter --input_shape is invalid. Shape values must be positive integers. "
    "The error value in the shape is {}.",
    "E10012": "--dynamic_batch_size is included, but the dimension count of the dynamic-shape input configured in "
    "--input_shape is less than 1.",
    "E10016": "Opname {} specified in --{} is not found in the model. Confirm whether this node name exists, or the "
    "node is not split with the specified delimiter ';'.",
    "E10018": "Value {} for shape {} is invalid. When --dynamic_batch_size is included, only batch size N can be -1 in "
    "--input_shape.",
    "E10019": "When --dynamic_image_size is included, only the height and width axes can be -1 in --input_shape.",
    "E10020": "Value {} for parameter --dynamic_image_size is invalid.",
    "E10022": "Path {} for parameter --{} does not include the file name.",
    "E10031": "--dynamic_batch_size is included, but none of the nodes specified in --input_shape has a batch size "
    "equaling -1.",
    "E10034": "Nodes (for example, {}) connected to AIPP must not be of type fp16.",
    "E10035": "--dynamic_batch_size, --dynamic_image_size, or --dynamic_dims has {} profiles, which is less than the "
    "minimum {}.",
    "E10036": "--dynamic_batch_size, --dynamic_image_size, or --dynamic_dims has {} profiles, which is greater than "
    "the maximum {}.",
    "E10038": "Dimension size {} is invalid. The value must be greater than 0.",
    "E10039": "The --dynamic_batch_size, --dynamic_image_size, or --dynamic_dims argument have duplicate profiles.",
    "E10040": "As the --dynamic_batch_size, --dynamic_image_size, or --dynamic_dims argument is included, the "
    "corresponding nodes specified in --input_shape must have -1 axes and cannot have '~'.",
    "E10041": "Failed to load the model from {}.",
    "E10049": "Dimension count {} configured in --input_shape does not match dimension count {} of the node.",
    "E10050": "Current dimension size {} is not in the range of {}-{} specified by --input_shape.",
    "E10054": "The required parameter {} for ATC is empty. Another possible reason is that the values of some "
    'parameters are not enclosed by quotation marks ("").',
    "E10055": "The operation is not supported. Reason: {}.",
    "E10056": "Cannot configure both parameters {} and {} simultaneously.",
    "E16002": "No ONNX parser is registered for optype {}.",
}


class AtcError(Exception):
    """code: of GE's table."""

    def __init__(self, code: str, *values: object) -> None:
        super().__init__(f"{code}: {TEXTS[code].format(*values)}")
        self.code = code
