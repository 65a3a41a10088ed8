"""Calls to the Kubernetes API over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeVar

import aiohttp
from aiohttp import hdrs

from apiserver.clock import Clock
from apiserver.kube import transport_errors
from apiserver.kube.access import Access
from apiserver.kube.credentials import Credentials
from apiserver.kube.metrics import NO_ANSWER, RestMetrics
from apiserver.kube.request import JSON, WATCH_SECONDS, Answer, Call
from apiserver.kube.status_errors import refused
from apiserver.kube.stream import LineStream

CALL_TIMEOUT: Final = 5.0
LONGEST_PAUSE: Final = 1
_KEEPALIVE: Final = 75.0  # the server closes idle connections after 90 s
_READ_BUFFER: Final = 2**20  # a page of a list is read in one go
_CALLS: Final = aiohttp.ClientTimeout(total=None, sock_connect=CALL_TIMEOUT)
# The server ends a watch in time; one that is silent for longer has no server any more.
_STREAMS: Final = aiohttp.ClientTimeout(
    total=None, sock_connect=CALL_TIMEOUT, sock_read=WATCH_SECONDS + CALL_TIMEOUT
)


class _Answered(Protocol):
    @property
    def status(self) -> int: ...


A = TypeVar("A", bound=_Answered)


class RestClient:
    """Every call has a deadline, and renews its credentials once when they are refused."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        credentials: Credentials,
        metrics: RestMetrics,
        clock: Clock,
    ) -> None:
        self._session = session
        self._credentials = credentials
        self._metrics = metrics
        self._clock = clock

    @property
    def server(self) -> str:
        """The URL of the API server, for messages."""
        return self._credentials.current.server

    async def send(self, call: Call, *, within: float = CALL_TIMEOUT) -> bytes:
        """The body of a success, or a ClusterError."""
        access = await self._credentials.fresh()
        async with deadline(access.server, within):
            answer = await self._renewing(access, call, self._ask)
            if (pause := brief_pause(answer)) is not None:
                await self._clock.sleep(pause)
                answer = await self._renewing(self._credentials.current, call, self._ask)
        if not answer.is_success:
            raise refused(access.server, call, answer)
        return answer.body

    async def stream(self, call: Call) -> LineStream:
        """An open stream, or a ClusterError."""
        access = await self._credentials.fresh()
        async with deadline(access.server, CALL_TIMEOUT):
            begun = await self._renewing(access, call, self._begin)
        if isinstance(begun, Answer):
            raise refused(access.server, call, begun)
        return LineStream(access.server, begun)

    async def _renewing(
        self, access: Access, call: Call, ask: Callable[[Access, Call], Awaitable[A]]
    ) -> A:
        answer = await self._recorded(access, call, ask)
        if answer.status == 401:
            renewed = await self._credentials.renew(access)
            answer = await self._recorded(renewed, call, ask)
        return answer

    async def _recorded(
        self, access: Access, call: Call, ask: Callable[[Access, Call], Awaitable[A]]
    ) -> A:
        started, code = self._clock.monotonic(), NO_ANSWER
        try:
            answer = await ask(access, call)
            code = str(answer.status)
            return answer
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.record(access.server, call.method, code, seconds)

    async def _ask(self, access: Access, call: Call) -> Answer:
        return await read(await self._request(access, call, _CALLS))

    async def _begin(self, access: Access, call: Call) -> Answer | aiohttp.ClientResponse:
        response = await self._request(access, call, _STREAMS)
        return response if response.ok else await read(response)

    async def _request(
        self, access: Access, call: Call, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        return await self._session.request(
            call.method,
            access.server + call.path,
            params=call.query,
            data=call.body,
            headers=headers(access, call),
            timeout=limits,
            ssl=access.context or True,
            server_hostname=access.server_name,
            proxy=access.proxy,
            allow_redirects=False,
        )


@asynccontextmanager
async def deadline(server: str, seconds: float) -> AsyncIterator[None]:
    """Tell of what breaks the connection, or takes too long, as a ClusterError."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise transport_errors.timed_out(server, seconds) from None
    except (aiohttp.ClientError, OSError) as error:
        raise transport_errors.unreachable(server, error) from error


async def read(response: aiohttp.ClientResponse) -> Answer:
    """The whole answer; its connection is free for the next call."""
    async with response:
        body = await response.read()
    given = response.headers.get(hdrs.RETRY_AFTER, "")
    return Answer(response.status, body, int(given) if is_short_number(given) else None)


def brief_pause(answer: Answer) -> int | None:
    """How long to wait before the same call again, where the server wants that and it is short."""
    pause = answer.retry_after if answer.status == 429 else None
    return pause if pause is not None and pause <= LONGEST_PAUSE else None


def is_short_number(text: str) -> bool:
    """Whether `text` is a number of seconds; a date is one of a clock that may not be ours."""
    return text.isascii() and text.isdecimal() and len(text) < 6


def headers(access: Access, call: Call) -> dict[str, str]:
    """What goes with a call."""
    sent: dict[str, str] = {hdrs.ACCEPT: JSON}
    if access.authorization:
        sent[hdrs.AUTHORIZATION] = access.authorization
    if call.body is not None:
        sent[hdrs.CONTENT_TYPE] = call.media_type
    return sent


def new_session(version: str) -> aiohttp.ClientSession:
    """A session for one client; deadlines are the client's, proxies the kubeconfig's.

    Watches hold connections, and a call must not wait for one of theirs: so there is no limit.
    """
    # To pack a long list takes the server longer than to send it.
    sent = {hdrs.USER_AGENT: f"gpu-runtime-api/{version}", hdrs.ACCEPT_ENCODING: "identity"}
    return aiohttp.ClientSession(
        headers=sent,
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE),
        read_bufsize=_READ_BUFFER,
        trust_env=False,
    )
