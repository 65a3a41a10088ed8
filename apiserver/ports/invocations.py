"""The use cases of invocations."""

from collections.abc import AsyncIterator
from typing import Protocol

from apiserver.gateway import Page
from apiserver.invocation_commands import Invocation, Invoke, ListDeadLetters, ListInvocations
from apiserver.queue_gateway import Letter
from apiserver.services.invocations import BodyOf
from apiserver.services.submission import Acceptance, Submission


class Invocations(Protocol):
    """Calls of functions."""

    async def receive(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        """Take in a payload; NotFoundError, ConflictError, QueueFullError."""
        ...

    async def accept(self, submission: Submission) -> Acceptance:
        """Accept an invocation; ConflictError, QueueFullError, UnknownOutcomeError."""
        ...

    async def get(self, request_id: str, invocation_id: str) -> Invocation:
        """The invocation as it is now; NotFoundError."""
        ...

    async def wait_final(self, invocation: Invocation, seconds: float) -> Invocation:
        """The invocation once it is final, or as it is after `seconds`."""
        ...

    async def cancel(self, request_id: str, invocation_id: str) -> Invocation:
        """End or begin to end an invocation; NotFoundError, ConflictError."""
        ...

    async def redrive(self, request_id: str, invocation_id: str) -> Invocation:
        """Begin a new run; NotFoundError, ConflictError."""
        ...

    async def body(self, request_id: str, invocation_id: str) -> BodyOf:
        """The body of the result; NotFoundError."""
        ...


class InvocationIndex(Protocol):
    """Lists of invocations."""

    async def invocations(self, query: ListInvocations) -> Page[Invocation]:
        """Invocations by their last change; InvalidRequestError."""
        ...

    async def dead_letters(self, query: ListDeadLetters) -> Page[Letter]:
        """Dead letters, newest first; InvalidRequestError."""
        ...
