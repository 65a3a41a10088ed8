"""The use cases of invocations."""

from collections.abc import AsyncIterator
from typing import Protocol

from apiserver.invocations.commands import Invocation, Invoke, ListDeadLetters, ListInvocations
from apiserver.invocations.service import ResultBody
from apiserver.invocations.submission import Acceptance, Submission
from apiserver.kube.port import Page
from apiserver.nats.port import ListedDeadLetter


class InvocationServicePort(Protocol):
    """Calls of functions."""

    async def receive_payload(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        """Take in a payload; NotFoundError, ConflictError, QueueFullError."""
        ...

    async def accept(self, submission: Submission) -> Acceptance:
        """Accept an invocation; ConflictError, QueueFullError, AcceptanceUnknownError."""
        ...

    async def get(self, function_name: str, invocation_id: str) -> Invocation:
        """The invocation as it is now; NotFoundError."""
        ...

    async def wait_final(self, invocation: Invocation, timeout_seconds: float) -> Invocation:
        """The invocation once it is final, or as it is after `seconds`."""
        ...

    async def cancel(self, function_name: str, invocation_id: str) -> Invocation:
        """End or begin to end an invocation; NotFoundError, ConflictError."""
        ...

    async def redrive(self, function_name: str, invocation_id: str) -> Invocation:
        """Begin a new run; NotFoundError, ConflictError."""
        ...

    async def get_body(self, function_name: str, invocation_id: str) -> ResultBody:
        """The body of the result; NotFoundError."""
        ...


class InvocationListsPort(Protocol):
    """Lists of invocations."""

    async def list_invocations(self, query: ListInvocations) -> Page[Invocation]:
        """Invocations by their last change; InvalidRequestError."""
        ...

    async def list_dead_letters(self, query: ListDeadLetters) -> Page[ListedDeadLetter]:
        """Dead letters, newest first; InvalidRequestError."""
        ...
