"""Declare, validate, compile and run a pipeline."""

from .deployment import Batching, Deployment
from .graph import Graph
from .lease import ExecutionContext
from .pipeline import Pipeline
from .plan import Plan
from .session import Session
from .validate import validate

__all__ = ["Batching", "Deployment", "ExecutionContext", "Graph", "Pipeline", "Plan", "Session", "validate"]
