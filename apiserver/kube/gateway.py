"""The Kubernetes API over HTTP."""

import asyncio
from dataclasses import dataclass
from typing import Final, TypeVar

import aiohttp
import msgspec
from aiohttp import hdrs

from apiserver.clock import Clock
from apiserver.kube import failures
from apiserver.kube.access import Access
from apiserver.kube.credentials import Credentials
from apiserver.kube.metrics import NO_ANSWER, RestMetrics
from shared.node import Node, NodeList
from shared.server_version import ServerVersion

T = TypeVar("T")

CALL_TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes


class KubeGateway:
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

    async def version(self, *, within: float = CALL_TIMEOUT) -> ServerVersion:
        """Ask the server what it is."""
        return await self._get("/version", ServerVersion, within)

    async def nodes(self, *, within: float = CALL_TIMEOUT) -> tuple[Node, ...]:
        """Every node, from the server's cache: no quorum read for a status page."""
        listed = await self._get("/api/v1/nodes?resourceVersion=0", NodeList, within)
        return listed.items

    async def _get(self, path: str, kind: type[T], within: float) -> T:
        access = await self._credentials.fresh()
        try:
            async with asyncio.timeout(within):
                answer = await self._send(access, path)
                if answer.status == 401:
                    access = await self._credentials.renew(access)
                    answer = await self._send(access, path)
        except TimeoutError:
            raise failures.timed_out(access.server, within) from None
        except (aiohttp.ClientError, OSError) as error:
            raise failures.unreachable(access.server, error) from error
        return _decoded(access.server, path, answer, kind)

    async def _send(self, access: Access, path: str) -> _Answer:
        started, code = self._clock.monotonic(), NO_ANSWER
        try:
            async with self._session.get(
                access.server + path,
                headers=_headers(access),
                ssl=access.context or True,
                server_hostname=access.server_name,
                proxy=access.proxy,
                allow_redirects=False,
            ) as response:
                body = await response.read()
                code = str(response.status)
                return _Answer(response.status, body)
        finally:
            self._metrics.record(access.server, code, self._clock.monotonic() - started)


def new_session(version: str) -> aiohttp.ClientSession:
    """A session for one gateway; deadlines are the gateway's, proxies the kubeconfig's."""
    return aiohttp.ClientSession(
        headers={hdrs.USER_AGENT: f"gpu-runtime-api/{version}"},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CALL_TIMEOUT),
        trust_env=False,
    )


def _headers(access: Access) -> dict[str, str]:
    headers: dict[str, str] = {hdrs.ACCEPT: "application/json"}
    if access.authorization:
        headers[hdrs.AUTHORIZATION] = access.authorization
    return headers


def _decoded(server: str, path: str, answer: _Answer, kind: type[T]) -> T:
    if answer.status != 200:
        raise failures.refused(server, path, answer.status, answer.body)
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except msgspec.DecodeError as error:
        raise failures.unreadable(server, path, error) from error
