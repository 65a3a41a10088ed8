"""Invocations that are accepted at once and end when the test says so."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from apiserver.invocations.commands import Invocation, Invoke
from apiserver.invocations.payload_upload import Payload
from apiserver.invocations.submission import Acceptance, Submission, first_record, invocation_of
from shared.invocation import transition
from shared.invocation.record import Body, Result
from shared.invocation.state import State
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.function import Function, FunctionSpec


@dataclass
class MemoryInvocations:
    """`waiting` counts those who wait for an end, which comes with `over`."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0

    async def receive(self, command: Invoke, chunks: AsyncIterator[bytes]) -> Submission:
        sent = b"".join([chunk async for chunk in chunks])
        function = Function(
            metadata=ObjectMeta(name=command.request_id, uid="u"),
            spec=FunctionSpec(spec_name="g1.1", image="example/echo:1"),
        )
        return Submission(function, "i", command, Payload(Body(inline=sent), "digest"))

    async def accept(self, submission: Submission) -> Acceptance:
        return Acceptance(invocation_of(submission, first_record(submission, 1)), is_new=True)

    async def wait_final(self, invocation: Invocation, seconds: float) -> Invocation:
        self.waiting += 1
        await self.over.wait()
        ended = transition.finished(invocation.record, State.SUCCEEDED, Result(), 2)
        return Invocation(invocation.request_id, invocation.invocation_id, ended)
