"""Frozen TensorFlow graphs as models: read and rewritten without TensorFlow, run by OpenVINO."""
