"""Requests to the API server: deadlines, credentials that are renewed once, typed errors."""

import asyncio
from typing import Final, TypeVar

import aiohttp
import msgspec
from aiohttp import hdrs
from yarl import URL

from controller.runtime.access import Access
from controller.runtime.clock import Clock
from controller.runtime.credentials import Credentials
from controller.runtime.errors import StatusError, UnreachableError, UnreadableError
from controller.runtime.metrics import NO_ANSWER, RestMetrics

T = TypeVar("T")

CONNECT_SECONDS: Final = 5.0
LONGEST_MESSAGE: Final = 300


class Status(msgspec.Struct):
    """The message of a Kubernetes Status object."""

    message: str = ""


class RestClient:
    """One API server, asked over one session."""

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

    async def get(self, path: str, kind: type[T], *, within: float) -> T:
        """GET `path`, decoded as `kind`, or an ApiError `within` seconds."""
        access = await self._credentials.fresh()
        try:
            async with asyncio.timeout(within):
                status, body = await self._send(access, path)
                if status == 401:
                    access = await self._credentials.renew(access)
                    status, body = await self._send(access, path)
        except TimeoutError:
            raise UnreachableError(f"{access.server} gave no answer in {within:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(f"{access.server} cannot be reached: {error}") from error
        return decoded(access.server, path, status, body, kind)

    async def _send(self, access: Access, path: str) -> tuple[int, bytes]:
        started, code = self._clock.monotonic(), NO_ANSWER
        host = URL(access.server).authority
        try:
            async with self._session.get(
                access.server + path,
                headers=headers(access),
                ssl=access.tls or True,
                server_hostname=access.server_name,
                allow_redirects=False,
            ) as response:
                body = await response.read()
                code = str(response.status)
                return response.status, body
        finally:
            seconds = self._clock.monotonic() - started
            self._metrics.requests.labels(code, hdrs.METH_GET, host).inc()
            self._metrics.seconds.labels(hdrs.METH_GET, host).observe(seconds)


def new_session(user_agent: str) -> aiohttp.ClientSession:
    """A session for one client; deadlines are the calls' own, and no proxy of the environment."""
    return aiohttp.ClientSession(
        headers={hdrs.USER_AGENT: user_agent},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        trust_env=False,
    )


def headers(access: Access) -> dict[str, str]:
    accept: dict[str, str] = {hdrs.ACCEPT: "application/json"}
    return accept | ({hdrs.AUTHORIZATION: access.authorization} if access.authorization else {})


def decoded(server: str, path: str, status: int, body: bytes, kind: type[T]) -> T:
    if status != 200:
        raise StatusError(status, f"{server} answered GET {path} with {status}: {message(body)}")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise UnreadableError(
            f"{server} answered GET {path} with something else: {error}"
        ) from error


def message(body: bytes) -> str:
    """What the server says of an error: a Status, or plain text from whoever is in between."""
    try:
        text = msgspec.json.decode(body, type=Status).message
    except msgspec.DecodeError:
        text = " ".join(body.decode(errors="replace").split())
    return text[:LONGEST_MESSAGE] or "no message"
