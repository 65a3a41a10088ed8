"""The queue of a leading activator, whose writes count among those of its process."""

from dataclasses import replace
from typing import Any, cast

from nats.aio.client import Client
from nats.aio.msg import Msg

from controller.runtime.leader.elector import LeaderElector
from serverless.activator.leader_wiring import Leading, Surroundings
from serverless.activator.wiring import Assembly
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import UnavailableError
from tests.support.faults.crashing_rest_client import Mortal

READS = ("$JS.API.STREAM.INFO.", "$JS.API.STREAM.MSG.GET.", "$JS.API.CONSUMER.LIST.")


class MortalQueue:
    """Passes on what is asked of a connection until the process dies."""

    def __init__(self, connection: QueueConnection, mortal: Mortal) -> None:
        self._connection = connection
        self._mortal = mortal

    @property
    def client(self) -> "MortalQueue":
        """Itself: what it does not know the live client does."""
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._live, name)

    async def request(self, subject: str, data: bytes, **options: Any) -> Msg:
        """One request, or the last."""
        if subject.startswith(READS):
            return await self._live.request(subject, data, **options)
        return await self._mortal.write(
            subject, lambda: self._live.request(subject, data, **options)
        )

    @property
    def _live(self) -> Client:
        if self._mortal.died.is_set():
            raise UnavailableError("the process is dead")
        return self._connection.client


class MortalAssembly(Assembly):
    """Puts an activator together whose leader dies at its writes to the queue, too."""

    def __init__(self, mortal: Mortal, *parts: Any) -> None:
        super().__init__(*parts)
        self._mortal = mortal

    def _leading(self, around: Surroundings, elector: LeaderElector | None) -> Leading:
        queue = cast(QueueConnection, MortalQueue(around.queue, self._mortal))
        return super()._leading(replace(around, queue=queue), elector)
