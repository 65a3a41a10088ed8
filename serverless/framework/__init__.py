"""What user code imports: `serve` a handler, and the worker beside it brings the invocations."""

from serverless.framework.invocation import Invocation
from serverless.framework.response import Response, Retryable
from serverless.framework.server import serve

__all__ = ["Invocation", "Response", "Retryable", "serve"]
