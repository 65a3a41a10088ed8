"""Requests to the API server: deadlines, retries it asks for, credentials that are renewed."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from itertools import repeat
from typing import Final

import aiohttp
from aiohttp import hdrs
from yarl import URL

from controller.runtime.client.credentials import Credentials
from controller.runtime.client.kubeconfig import RestConfig
from controller.runtime.client.metrics import NO_RESPONSE_CODE, RestMetrics
from controller.runtime.clock import Clock
from controller.runtime.errors import (
    ConnectRefusedError,
    ResourceVersionTooLargeError,
    UnreachableError,
    error_from_response,
)

CONNECT_TIMEOUT_SECONDS: Final = 5.0
REQUEST_TIMEOUT_SECONDS: Final = 30.0
MAX_ATTEMPTS: Final = 10
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class KubeRequest:
    """One request as a value."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class RestClient:
    """One API server, asked over one session; safe to share by any number of tasks."""

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
        """The address of the API server, for messages."""
        return self._credentials.config.server

    async def send(
        self, request: KubeRequest, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> bytes:
        """The body of a success, or a KubeError; tries again where the server says when to."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._send(request)
        except TimeoutError:
            raise UnreachableError(
                f"{self.server} {request}: no answer within {timeout_seconds:g} s"
            ) from None

    async def stream(self, request: KubeRequest, *, idle_timeout: float) -> "LineStream":
        """An open stream of lines, which the caller closes; `silence` seconds of it end it."""
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                response = await self._request(request, idle_timeout)
                if response.ok:
                    return LineStream(response, f"{self.server} {request}")
                body = await self._read(request, response)
        except TimeoutError:
            raise UnreachableError(f"{self.server} {request}: no answer") from None
        raise error_from_response(f"{self.server} {request}", response.status, body)

    async def _send(self, request: KubeRequest) -> bytes:
        for last in (*repeat(False, MAX_ATTEMPTS - 1), True):
            response = await self._request(request, None)
            body = await self._read(request, response)
            if response.ok:
                return body
            error = error_from_response(f"{self.server} {request}", response.status, body)
            pause = retry_after_seconds(response.status, response.headers)
            if pause is None or last or isinstance(error, ResourceVersionTooLargeError):
                raise error  # the last: asking for another version helps, waiting may not
            self._metrics.retries.labels(str(response.status), request.method, self._host).inc()
            await self._clock.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def _request(
        self, request: KubeRequest, idle_timeout: float | None
    ) -> aiohttp.ClientResponse:
        access = await self._credentials.get_fresh()
        response = await self._request_once(access, request, idle_timeout)
        if response.status == 401:
            response.release()
            access = await self._credentials.reload(access)
            response = await self._request_once(access, request, idle_timeout)
        return response

    async def _request_once(
        self, config: RestConfig, request: KubeRequest, idle_timeout: float | None
    ) -> aiohttp.ClientResponse:
        started, code = self._clock.monotonic(), NO_RESPONSE_CODE
        try:
            response = await self._session.request(
                request.method,
                URL(config.server + request.path, encoded=True).with_query(request.query),
                data=None if request.body is None else BytesIO(request.body),  # no warning at 1 MiB
                headers=request_headers(config, request),
                timeout=aiohttp.ClientTimeout(
                    sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=idle_timeout
                ),
                ssl=config.ssl_context or True,
                server_hostname=config.tls_server_name,
                allow_redirects=False,
            )
            code = str(response.status)
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable_error(f"{config.server} {request}", error) from error
        else:
            return response
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.requests.labels(code, request.method, self._host).inc()
            self._metrics.request_seconds.labels(request.method, self._host).observe(seconds)

    async def _read(self, request: KubeRequest, response: aiohttp.ClientResponse) -> bytes:
        try:
            async with response:
                return await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable_error(f"{self.server} {request}", error) from error

    @property
    def _host(self) -> str:
        return URL(self.server).authority


class LineSplitter:
    """Collects chunks until a newline; a line of many chunks is joined once, not chunk by chunk."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends."""
        first, *rest = chunk.split(b"\n")
        self._parts.append(first)
        if not rest:
            return []
        lines = [b"".join(self._parts), *rest[:-1]]
        self._parts = [rest[-1]]
        return [line for line in lines if line]


class LineStream:
    """The lines of one long answer, in batches as they arrive."""

    def __init__(self, response: aiohttp.ClientResponse, request_text: str) -> None:
        self._response = response
        self._request_text = request_text

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """Lines until the server ends the stream; UnreachableError when it breaks or is silent."""
        splitter = LineSplitter()
        try:
            async for chunk in self._response.content.iter_any():
                if lines := splitter.feed(chunk):
                    yield lines
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise unreachable_error(self._request_text, error) from error

    def close(self) -> None:
        """Drop the connection: it cannot be used for anything else."""
        self._response.close()


def new_session(user_agent: str) -> aiohttp.ClientSession:
    """A session for one client; watches hold connections, so their number has no limit."""
    return aiohttp.ClientSession(
        headers={hdrs.USER_AGENT: user_agent},
        connector=aiohttp.TCPConnector(limit=0),
        trust_env=False,
    )


def request_headers(config: RestConfig, request: KubeRequest) -> dict[str, str]:
    sent: dict[str, str] = {hdrs.ACCEPT: JSON}
    if config.authorization:
        sent[hdrs.AUTHORIZATION] = config.authorization
    if request.body is not None:
        sent[hdrs.CONTENT_TYPE] = request.content_type
    return sent


def retry_after_seconds(status: int, headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait before the same request; None where it does not."""
    given = headers.get(hdrs.RETRY_AFTER, "")
    if (status == 429 or status >= 500) and given.isdecimal():
        return float(given)
    return None


def unreachable_error(request_text: str, error: Exception) -> UnreachableError:
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectRefusedError(f"{request_text}: {error.os_error.strerror or error.os_error}")
    return UnreachableError(f"{request_text}: {str(error) or type(error).__name__}")
