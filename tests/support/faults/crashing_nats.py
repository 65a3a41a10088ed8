"""The queue of a leading activator, whose writes count among those of its process."""

from collections.abc import Callable
from typing import Any, cast

from nats.aio.client import Client
from nats.aio.msg import Msg

from serverless.activator.wiring import ManagerBuilder
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import UnavailableError
from serverless.nats.requests import JetStreamClient
from tests.support.faults.crashing_rest_client import CrashingRestClient

READ_SUBJECTS = ("$JS.API.STREAM.INFO.", "$JS.API.STREAM.MSG.GET.", "$JS.API.CONSUMER.LIST.")


class CrashingNATSConnection:
    """Passes on what is asked of a connection until the process dies."""

    def __init__(self, connection: QueueConnection, crashing_client: CrashingRestClient) -> None:
        self._connection = connection
        self._crashing_client = crashing_client

    @property
    def client(self) -> "CrashingNATSConnection":
        """Itself: what it does not know the live client does."""
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._live_client, name)

    async def request(self, subject: str, data: bytes, **options: Any) -> Msg:
        """One request, or the last."""
        if subject.startswith(READ_SUBJECTS):
            return await self._live_client.request(subject, data, **options)
        return await self._crashing_client.count_write(
            subject, lambda: self._live_client.request(subject, data, **options)
        )

    @property
    def _live_client(self) -> Client:
        if self._crashing_client.crashed.is_set():
            raise UnavailableError("the process is dead")
        return self._connection.client


class CrashingManagerBuilder(ManagerBuilder):
    """Puts an activator together whose leader dies at its writes to the queue, too."""

    def __init__(self, crashing_client: CrashingRestClient, *parts: Any) -> None:
        super().__init__(*parts)
        self._crashing_client = crashing_client

    def _leader_jetstream(
        self, connection: QueueConnection, fence: Callable[[], None]
    ) -> JetStreamClient:
        crashing = cast(QueueConnection, CrashingNATSConnection(connection, self._crashing_client))
        return super()._leader_jetstream(crashing, fence)
