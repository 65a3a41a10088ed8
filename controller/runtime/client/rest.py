"""HTTP requests to the API server, with deadlines, retries and reloaded credentials."""

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
    """One request."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class RestClient:
    """Sends requests to one API server over one session, which any number of tasks may share."""

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
        """Address of the API server, for messages."""
        return self._credentials.config.server

    async def send(
        self, request: KubeRequest, *, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> bytes:
        """Return the response body or raise KubeError; retry if the response has Retry-After."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._send(request)
        except TimeoutError:
            raise UnreachableError(
                f"{self.server} {request}: no response within {timeout_seconds:g} s"
            ) from None

    async def stream(self, request: KubeRequest, *, idle_timeout: float) -> "LineStream":
        """Open a stream of lines, which the caller closes; `idle_timeout` without data ends it."""
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                response = await self._request(request, idle_timeout)
                if response.ok:
                    return LineStream(response, f"{self.server} {request}")
                body = await self._read(request, response)
        except TimeoutError:
            raise UnreachableError(f"{self.server} {request}: no response") from None
        raise error_from_response(f"{self.server} {request}", response.status, body)

    async def _send(self, request: KubeRequest) -> bytes:
        for is_last in (*repeat(False, MAX_ATTEMPTS - 1), True):
            response = await self._request(request, None)
            body = await self._read(request, response)
            if response.ok:
                return body
            error = error_from_response(f"{self.server} {request}", response.status, body)
            delay = retry_after_seconds(response.status, response.headers)
            # The caller may request another version, which helps more than waiting.
            if delay is None or is_last or isinstance(error, ResourceVersionTooLargeError):
                raise error
            self._metrics.retries.labels(str(response.status), request.method, self._host).inc()
            await self._clock.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    async def _request(
        self, request: KubeRequest, idle_timeout: float | None
    ) -> aiohttp.ClientResponse:
        config = await self._credentials.get_fresh()
        response = await self._request_once(config, request, idle_timeout)
        if response.status == 401:
            response.release()
            config = await self._credentials.reload(config)
            response = await self._request_once(config, request, idle_timeout)
        return response

    async def _request_once(
        self, config: RestConfig, request: KubeRequest, idle_timeout: float | None
    ) -> aiohttp.ClientResponse:
        started, code = self._clock.monotonic(), NO_RESPONSE_CODE
        try:
            response = await self._session.request(
                request.method,
                URL(config.server + request.path, encoded=True).with_query(request.query),
                data=None
                if request.body is None
                else BytesIO(request.body),  # aiohttp warns of bytes above 1 MiB
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
    """Splits a byte stream into lines; a line of many chunks is joined once."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that `chunk` completes, without newlines."""
        first, *following = chunk.split(b"\n")
        self._parts.append(first)
        if not following:
            return []
        lines = [b"".join(self._parts), *following[:-1]]
        self._parts = [following[-1]]
        return [line for line in lines if line]


class LineStream:
    """The lines of one streamed response, in batches as they arrive."""

    def __init__(self, response: aiohttp.ClientResponse, request_text: str) -> None:
        self._response = response
        self._request_text = request_text

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """Yield lines until the server ends the stream; UnreachableError if it breaks."""
        splitter = LineSplitter()
        try:
            async for chunk in self._response.content.iter_any():
                if lines := splitter.feed(chunk):
                    yield lines
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise unreachable_error(self._request_text, error) from error

    def close(self) -> None:
        """Close the connection, which cannot be reused."""
        self._response.close()


def new_session(user_agent: str) -> aiohttp.ClientSession:
    """Create the session of one client; without a connection limit, because watches keep some."""
    return aiohttp.ClientSession(
        headers={hdrs.USER_AGENT: user_agent},
        connector=aiohttp.TCPConnector(limit=0),
        trust_env=False,
    )


def request_headers(config: RestConfig, request: KubeRequest) -> dict[str, str]:
    headers: dict[str, str] = {hdrs.ACCEPT: JSON}
    if config.authorization:
        headers[hdrs.AUTHORIZATION] = config.authorization
    if request.body is not None:
        headers[hdrs.CONTENT_TYPE] = request.content_type
    return headers


def retry_after_seconds(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the Retry-After of an error response; None if the request must not be retried."""
    seconds = headers.get(hdrs.RETRY_AFTER, "")
    if (status == 429 or status >= 500) and seconds.isdecimal():
        return float(seconds)
    return None


def unreachable_error(request_text: str, error: Exception) -> UnreachableError:
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectRefusedError(f"{request_text}: {error.os_error.strerror or error.os_error}")
    return UnreachableError(f"{request_text}: {str(error) or type(error).__name__}")
