"""The interface of user code: `serve` runs a handler for the invocations that a worker sends."""

from serverless.framework.invocation import Invocation
from serverless.framework.response import Response, Retryable
from serverless.framework.server import serve

__all__ = ["Invocation", "Response", "Retryable", "serve"]
