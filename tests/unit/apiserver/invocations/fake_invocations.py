"""Fake invocations that are accepted at once and end when the test finishes them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from apiserver.invocations.accept import InvocationAcceptor
from apiserver.invocations.commands import Invocation, Invoke
from apiserver.invocations.payload_upload import Payload
from apiserver.invocations.service import InvocationService
from apiserver.invocations.submission import Acceptance, Submission, invocation_of, new_record
from shared.invocation import transition
from shared.invocation.record import InvocationBody, InvocationResult
from shared.invocation.state import InvocationState
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.function import Function, FunctionSpec


class FakeAcceptor(InvocationAcceptor):
    """Acceptor that accepts every invocation at once."""

    def __init__(self) -> None:
        """Create the acceptor without any dependencies."""

    async def receive_payload(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        payload = b"".join([chunk async for chunk in chunks])
        function = Function(
            metadata=ObjectMeta(name=command.function_name, uid="u"),
            spec=FunctionSpec(spec_name="g1.1", image="example/echo:1"),
        )
        return Submission(function, "i", command, Payload(InvocationBody(inline=payload), "digest"))

    async def accept(self, submission: Submission) -> Acceptance:
        return Acceptance(invocation_of(submission, new_record(submission, 1)), is_new=True)


@dataclass
class FakeInvocations(InvocationService):
    """Invocation service that counts the waiting requests; `finish` ends their invocations."""

    finish: asyncio.Event = field(default_factory=asyncio.Event)
    waiting_count: int = 0

    async def wait_final(self, invocation: Invocation, timeout_seconds: float) -> Invocation:
        self.waiting_count += 1
        await self.finish.wait()
        record = transition.finished(
            invocation.record, InvocationState.SUCCEEDED, InvocationResult(), 2
        )
        return Invocation(invocation.function_name, invocation.invocation_id, record)
