"""Calls to the Kubernetes API over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeVar

import aiohttp
from aiohttp import hdrs

from apiserver.clock import Clock
from apiserver.kube import transport_errors
from apiserver.kube.access import RestConfig
from apiserver.kube.credentials import Credentials
from apiserver.kube.metrics import NO_RESPONSE_CODE, RestMetrics
from apiserver.kube.request import JSON_MEDIA_TYPE, WATCH_TIMEOUT_SECONDS, KubeRequest, KubeResponse
from apiserver.kube.status_errors import error_from_response
from apiserver.kube.stream import LineStream

REQUEST_TIMEOUT_SECONDS: Final = 5.0
MAX_RETRY_PAUSE_SECONDS: Final = 1
_KEEPALIVE_SECONDS: Final = 75.0  # the server closes idle connections after 90 s
_READ_BUFFER_BYTES: Final = 2**20  # a page of a list is read in one go
_REQUEST_TIMEOUTS: Final = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_TIMEOUT_SECONDS)
# The server ends a watch in time; one that is silent for longer has no server any more.
_STREAM_TIMEOUTS: Final = aiohttp.ClientTimeout(
    total=None,
    sock_connect=REQUEST_TIMEOUT_SECONDS,
    sock_read=WATCH_TIMEOUT_SECONDS + REQUEST_TIMEOUT_SECONDS,
)


class _HasStatus(Protocol):
    @property
    def status(self) -> int: ...


A = TypeVar("A", bound=_HasStatus)


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
        return self._credentials.config.server

    async def send(
        self, request: KubeRequest, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> bytes:
        """The body of a success, or a KubeError."""
        access = await self._credentials.fresh_config()
        async with translate_transport_errors(access.server, timeout_seconds):
            answer = await self._send_with_reload(access, request, self._send_once)
            if (pause := retry_pause(answer)) is not None:
                await self._clock.sleep(pause)
                answer = await self._send_with_reload(
                    self._credentials.config, request, self._send_once
                )
        if not answer.is_success:
            raise error_from_response(access.server, request, answer)
        return answer.body

    async def stream(self, request: KubeRequest) -> LineStream:
        """An open stream, or a KubeError."""
        access = await self._credentials.fresh_config()
        async with translate_transport_errors(access.server, REQUEST_TIMEOUT_SECONDS):
            begun = await self._send_with_reload(access, request, self._open_once)
        if isinstance(begun, KubeResponse):
            raise error_from_response(access.server, request, begun)
        return LineStream(access.server, begun)

    async def _send_with_reload(
        self,
        config: RestConfig,
        request: KubeRequest,
        send: Callable[[RestConfig, KubeRequest], Awaitable[A]],
    ) -> A:
        answer = await self._send_measured(config, request, send)
        if answer.status == 401:
            renewed = await self._credentials.reload(config)
            answer = await self._send_measured(renewed, request, send)
        return answer

    async def _send_measured(
        self,
        config: RestConfig,
        request: KubeRequest,
        send: Callable[[RestConfig, KubeRequest], Awaitable[A]],
    ) -> A:
        started, code = self._clock.monotonic(), NO_RESPONSE_CODE
        try:
            answer = await send(config, request)
            code = str(answer.status)
            return answer
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.observe_request(config.server, request.method, code, seconds)

    async def _send_once(self, config: RestConfig, request: KubeRequest) -> KubeResponse:
        return await read_response(await self._send_http(config, request, _REQUEST_TIMEOUTS))

    async def _open_once(
        self, config: RestConfig, request: KubeRequest
    ) -> KubeResponse | aiohttp.ClientResponse:
        response = await self._send_http(config, request, _STREAM_TIMEOUTS)
        return response if response.ok else await read_response(response)

    async def _send_http(
        self, config: RestConfig, request: KubeRequest, timeouts: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        return await self._session.request(
            request.method,
            config.server + request.path,
            params=request.query,
            data=request.body,
            headers=request_headers(config, request),
            timeout=timeouts,
            ssl=config.ssl_context or True,
            server_hostname=config.tls_server_name,
            proxy=config.proxy,
            allow_redirects=False,
        )


@asynccontextmanager
async def translate_transport_errors(server: str, timeout_seconds: float) -> AsyncIterator[None]:
    """Tell of what breaks the connection, or takes too long, as a KubeError."""
    try:
        async with asyncio.timeout(timeout_seconds):
            yield
    except TimeoutError:
        raise transport_errors.timeout_error(server, timeout_seconds) from None
    except (aiohttp.ClientError, OSError) as error:
        raise transport_errors.unreachable_error(server, error) from error


async def read_response(response: aiohttp.ClientResponse) -> KubeResponse:
    """The whole answer; its connection is free for the next call."""
    async with response:
        body = await response.read()
    given = response.headers.get(hdrs.RETRY_AFTER, "")
    return KubeResponse(response.status, body, int(given) if is_delay_seconds(given) else None)


def retry_pause(response: KubeResponse) -> int | None:
    """How long to wait before the same call again, where the server wants that and it is short."""
    pause = response.retry_after if response.status == 429 else None
    return pause if pause is not None and pause <= MAX_RETRY_PAUSE_SECONDS else None


def is_delay_seconds(text: str) -> bool:
    """Whether `text` is a number of seconds; a date is one of a clock that may not be ours."""
    return text.isascii() and text.isdecimal() and len(text) < 6


def request_headers(config: RestConfig, request: KubeRequest) -> dict[str, str]:
    """What goes with a call."""
    sent: dict[str, str] = {hdrs.ACCEPT: JSON_MEDIA_TYPE}
    if config.authorization:
        sent[hdrs.AUTHORIZATION] = config.authorization
    if request.body is not None:
        sent[hdrs.CONTENT_TYPE] = request.media_type
    return sent


def create_session(version: str) -> aiohttp.ClientSession:
    """A session for one client; deadlines are the client's, proxies the kubeconfig's.

    Watches hold connections, and a call must not wait for one of theirs: so there is no limit.
    """
    # To pack a long list takes the server longer than to send it.
    sent = {hdrs.USER_AGENT: f"gpu-runtime-api/{version}", hdrs.ACCEPT_ENCODING: "identity"}
    return aiohttp.ClientSession(
        headers=sent,
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_SECONDS),
        read_bufsize=_READ_BUFFER_BYTES,
        trust_env=False,
    )
