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
from controller.runtime.client.kubeconfig import Access
from controller.runtime.client.lines import LineSplitter
from controller.runtime.client.metrics import NO_ANSWER, RestMetrics
from controller.runtime.clock import Clock
from controller.runtime.errors import (
    ConnectRefusedError,
    UnreachableError,
    VersionTooLargeError,
    status_error,
)

CONNECT_SECONDS: Final = 5.0
CALL_SECONDS: Final = 30.0
MOST_TRIES: Final = 10
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Call:
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
        return self._credentials.current.server

    async def send(self, call: Call, *, within: float = CALL_SECONDS) -> bytes:
        """The body of a success, or an ApiError; tries again where the server says when to."""
        try:
            async with asyncio.timeout(within):
                return await self._send(call)
        except TimeoutError:
            raise UnreachableError(f"{self.server} {call}: no answer within {within:g} s") from None

    async def stream(self, call: Call, *, silence: float) -> "Stream":
        """An open stream of lines, which the caller closes; `silence` seconds of it end it."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                response = await self._request(call, silence)
                if response.ok:
                    return Stream(response, f"{self.server} {call}")
                body = await self._read(call, response)
        except TimeoutError:
            raise UnreachableError(f"{self.server} {call}: no answer") from None
        raise status_error(f"{self.server} {call}", response.status, body)

    async def _send(self, call: Call) -> bytes:
        for last in (*repeat(False, MOST_TRIES - 1), True):
            response = await self._request(call, None)
            body = await self._read(call, response)
            if response.ok:
                return body
            error = status_error(f"{self.server} {call}", response.status, body)
            pause = retry_after(response.status, response.headers)
            if pause is None or last or isinstance(error, VersionTooLargeError):
                raise error  # the last: asking for another version helps, waiting may not
            self._metrics.retries.labels(str(response.status), call.method, self._host).inc()
            await self._clock.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def _request(self, call: Call, silence: float | None) -> aiohttp.ClientResponse:
        access = await self._credentials.fresh()
        response = await self._request_as(access, call, silence)
        if response.status == 401:
            response.release()
            access = await self._credentials.renew(access)
            response = await self._request_as(access, call, silence)
        return response

    async def _request_as(
        self, access: Access, call: Call, silence: float | None
    ) -> aiohttp.ClientResponse:
        started, code = self._clock.monotonic(), NO_ANSWER
        try:
            response = await self._session.request(
                call.method,
                URL(access.server + call.path, encoded=True).with_query(call.query),
                data=None if call.body is None else BytesIO(call.body),  # no warning at 1 MiB
                headers=headers(access, call),
                timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=silence),
                ssl=access.tls or True,
                server_hostname=access.server_name,
                allow_redirects=False,
            )
            code = str(response.status)
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(f"{access.server} {call}", error) from error
        else:
            return response
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.requests.labels(code, call.method, self._host).inc()
            self._metrics.seconds.labels(call.method, self._host).observe(seconds)

    async def _read(self, call: Call, response: aiohttp.ClientResponse) -> bytes:
        try:
            async with response:
                return await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(f"{self.server} {call}", error) from error

    @property
    def _host(self) -> str:
        return URL(self.server).authority


class Stream:
    """The lines of one long answer, in batches as they arrive."""

    def __init__(self, response: aiohttp.ClientResponse, said: str) -> None:
        self._response = response
        self._said = said

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """Lines until the server ends the stream; UnreachableError when it breaks or is silent."""
        splitter = LineSplitter()
        try:
            async for chunk in self._response.content.iter_any():
                if lines := splitter.feed(chunk):
                    yield lines
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise unreachable(self._said, error) from error

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


def headers(access: Access, call: Call) -> dict[str, str]:
    sent: dict[str, str] = {hdrs.ACCEPT: JSON}
    if access.authorization:
        sent[hdrs.AUTHORIZATION] = access.authorization
    if call.body is not None:
        sent[hdrs.CONTENT_TYPE] = call.content_type
    return sent


def retry_after(status: int, headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait before the same request; None where it does not."""
    given = headers.get(hdrs.RETRY_AFTER, "")
    if (status == 429 or status >= 500) and given.isdecimal():
        return float(given)
    return None


def unreachable(said: str, error: Exception) -> UnreachableError:
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectRefusedError(f"{said}: {error.os_error.strerror or error.os_error}")
    return UnreachableError(f"{said}: {str(error) or type(error).__name__}")
