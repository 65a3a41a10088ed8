"""Requests to the Kubernetes API over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeVar

import aiohttp
from aiohttp import hdrs

from apiserver.circuit_breaker import CallResult, CircuitBreaker
from apiserver.kube import errors as kube_errors
from apiserver.kube.credentials import Credentials
from apiserver.kube.kubeconfig import RestConfig
from apiserver.kube.metrics import NO_RESPONSE_CODE, RestMetrics
from apiserver.kube.request import JSON_MEDIA_TYPE, WATCH_TIMEOUT_SECONDS, KubeRequest, KubeResponse
from apiserver.kube.request_errors import (
    error_from_response,
    translate_transport_errors,
    unreachable_error,
)
from shared.clock import Clock

REQUEST_TIMEOUT_SECONDS: Final = 5.0
MAX_RETRY_PAUSE_SECONDS: Final = 1
_KEEPALIVE_SECONDS: Final = 75.0  # the server closes idle connections after 90 s
_READ_BUFFER_BYTES: Final = 2**20  # a page of a list is read in one chunk
_REQUEST_TIMEOUTS: Final = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_TIMEOUT_SECONDS)
# The server ends every watch in time. A watch that is silent for longer has lost its server.
_STREAM_TIMEOUTS: Final = aiohttp.ClientTimeout(
    total=None,
    sock_connect=REQUEST_TIMEOUT_SECONDS,
    sock_read=WATCH_TIMEOUT_SECONDS + REQUEST_TIMEOUT_SECONDS,
)


class _HasStatus(Protocol):
    @property
    def status(self) -> int: ...


A = TypeVar("A", bound=_HasStatus)


class LineStream:
    """The lines of one streamed response, as they arrive; its user must close it."""

    def __init__(self, server: str, response: aiohttp.ClientResponse) -> None:
        self._server = server
        self._response = response
        self._partial_line: list[bytes] = []

    async def read_lines(self) -> list[bytes] | None:
        """Return the lines completed by the next chunk, possibly none; None at the end.

        Raises UnreachableError when the connection breaks.
        """
        try:
            chunk = await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable_error(self._server, error) from error
        return self._split(chunk) if chunk else None

    def close(self) -> None:
        """Drop the connection: no other request can use it."""
        self._response.close()

    def _split(self, chunk: bytes) -> list[bytes]:
        first, *lines = chunk.split(b"\n")
        self._partial_line.append(first)
        if not lines:
            return []
        completed, self._partial_line = b"".join(self._partial_line), [lines.pop()]
        return [line for line in (completed, *lines) if line]


class RestClient:
    """An HTTP client of the API server behind a circuit breaker.

    Every request has a deadline. A request that is answered with 401 is sent a second time with
    credentials that were read again.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        credentials: Credentials,
        metrics: RestMetrics,
        clock: Clock,
        breaker: CircuitBreaker,
    ) -> None:
        self._session = session
        self._credentials = credentials
        self._metrics = metrics
        self._clock = clock
        self._breaker = breaker
        self._last_failure = ""

    @property
    def server(self) -> str:
        """Return the URL of the API server, for messages."""
        return self._credentials.config.server

    async def send(
        self,
        request: KubeRequest,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        guarded: bool = True,
    ) -> bytes:
        """Return the body of a successful response; raises KubeError.

        An unguarded request is sent also while the circuit breaker is open, to notice the end of an
        outage. Its success does not close the breaker but allows the next probe at once: a server
        that has lost its storage still answers /version.
        """
        if guarded:
            async with self._through_breaker():
                return await self._send(request, timeout_seconds)
        body = await self._send(request, timeout_seconds)
        self._breaker.allow_probe_now()
        return body

    async def stream(self, request: KubeRequest) -> LineStream:
        """Open a streamed response; raises KubeError.

        While the circuit breaker is open the request is not sent. Its result does not count and it
        is never the probe: streams last long, and all of them break at the same time.
        """
        if self._breaker.is_open:
            raise self._not_sent_error()
        config = await self._credentials.fresh_config()
        async with translate_transport_errors(config.server, REQUEST_TIMEOUT_SECONDS):
            response = await self._send_with_reload(config, request, self._open_once)
        if isinstance(response, KubeResponse):
            raise error_from_response(config.server, request, response)
        return LineStream(config.server, response)

    @asynccontextmanager
    async def _through_breaker(self) -> AsyncIterator[None]:
        permit = self._breaker.acquire()
        if permit is None:
            raise self._not_sent_error()
        result = CallResult.UNKNOWN
        try:
            yield
            result = CallResult.ANSWERED
        except kube_errors.KubeError as error:
            result = call_result_of(error)
            self._last_failure = str(error) if result is CallResult.FAILED else self._last_failure
            raise
        finally:
            self._breaker.release(permit, result)

    def _not_sent_error(self) -> kube_errors.NotSentError:
        pause = self._breaker.retry_after
        return kube_errors.NotSentError(
            f"{self._last_failure} Requests are paused for {pause} s.", pause
        )

    async def _send(self, request: KubeRequest, timeout_seconds: float) -> bytes:
        config = await self._credentials.fresh_config()
        async with translate_transport_errors(config.server, timeout_seconds):
            response = await self._send_with_reload(config, request, self._send_once)
            if (pause := retry_pause(response)) is not None:
                await self._clock.sleep(pause)
                response = await self._send_with_reload(
                    self._credentials.config, request, self._send_once
                )
        if not response.is_success:
            raise error_from_response(config.server, request, response)
        return response.body

    async def _send_with_reload(
        self,
        config: RestConfig,
        request: KubeRequest,
        send: Callable[[RestConfig, KubeRequest], Awaitable[A]],
    ) -> A:
        response = await self._send_measured(config, request, send)
        if response.status == 401:
            reloaded = await self._credentials.reload(config)
            response = await self._send_measured(reloaded, request, send)
        return response

    async def _send_measured(
        self,
        config: RestConfig,
        request: KubeRequest,
        send: Callable[[RestConfig, KubeRequest], Awaitable[A]],
    ) -> A:
        started_at, code = self._clock.monotonic(), NO_RESPONSE_CODE
        try:
            response = await send(config, request)
            code = str(response.status)
            return response
        finally:
            seconds = self._clock.monotonic() - started_at
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


def call_result_of(error: kube_errors.KubeError) -> CallResult:
    """Return FAILED if there was no response; an error response counts as ANSWERED."""
    match error:
        case kube_errors.UnreachableError() | kube_errors.RequestTimeoutError():
            return CallResult.FAILED
        case _:
            return CallResult.ANSWERED


async def read_response(response: aiohttp.ClientResponse) -> KubeResponse:
    """Read the whole response and free its connection for the next request."""
    async with response:
        body = await response.read()
    text = response.headers.get(hdrs.RETRY_AFTER, "")
    return KubeResponse(response.status, body, int(text) if is_delay_seconds(text) else None)


def retry_pause(response: KubeResponse) -> int | None:
    """Return the seconds until a second attempt; None unless the server asks for a short pause."""
    pause = response.retry_after if response.status == 429 else None
    return pause if pause is not None and pause <= MAX_RETRY_PAUSE_SECONDS else None


def is_delay_seconds(text: str) -> bool:
    """Return whether Retry-After is a number of seconds; a date depends on the server's clock."""
    return text.isascii() and text.isdecimal() and len(text) < 6


def request_headers(config: RestConfig, request: KubeRequest) -> dict[str, str]:
    """Return the headers of a request."""
    headers: dict[str, str] = {hdrs.ACCEPT: JSON_MEDIA_TYPE}
    if config.authorization:
        headers[hdrs.AUTHORIZATION] = config.authorization
    if request.body is not None:
        headers[hdrs.CONTENT_TYPE] = request.media_type
    return headers


def create_session(version: str) -> aiohttp.ClientSession:
    """Create the session of one client; the client sets deadlines, the kubeconfig a proxy.

    The number of connections is unlimited: a watch occupies one, and no request may wait for one.
    """
    # The server needs more time to compress a long list than to send it.
    headers = {hdrs.USER_AGENT: f"gpu-runtime-api/{version}", hdrs.ACCEPT_ENCODING: "identity"}
    return aiohttp.ClientSession(
        headers=headers,
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_SECONDS),
        read_bufsize=_READ_BUFFER_BYTES,
        trust_env=False,
    )
