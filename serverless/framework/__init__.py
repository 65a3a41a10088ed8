"""What user code imports: `serve` runs a handler, the worker in the pod sends invocations."""

from serverless.framework.invocation import Invocation
from serverless.framework.response import Response, Retryable
from serverless.framework.server import serve

__all__ = ["Invocation", "Response", "Retryable", "serve"]
