"""Creates and deletes workers through the runtime API, as other clients do."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import msgspec
from aiohttp import hdrs

from serverless.activator.workers.worker_spec import WorkerSpec
from serverless.nats.config import read_secret_file
from shared.config.loader import ConfigurationError

REQUEST_TIMEOUT_SECONDS: Final = 10.0
UNITS_PATH: Final = "/api/v1/gpu-units"
JOBS_PATH: Final = "/api/v1/operator/jobs"
# Rejections that say nothing about the operation, which may be running.
INCONCLUSIVE_STATUSES: Final = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
TOKEN_FILE_KEY: Final = "runtimeApiTokenFile"  # noqa: S105
FINISHED_STATUSES: Final = frozenset({"succeeded", "failed"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Created:
    """The operation has succeeded; `is_deleted` if its unit was deleted since."""

    is_deleted: bool


@dataclass(frozen=True, slots=True)
class Pending:
    """The operation is running, or its state is unknown."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The API has rejected the request."""

    code: str
    message: str


CreateResponse = Created | Pending | Rejected


class RuntimeAPIClient:
    """The three calls of the activator; `fence` is called before each write."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        url: str,
        fence: Callable[[], None] = lambda: None,
        token_file: str = "",
    ) -> None:
        self._session = session
        self._url = url.rstrip("/")
        self._fence = fence
        self._token_file = token_file

    async def create(self, worker_spec: WorkerSpec) -> CreateResponse:
        """Create a worker, or repeat the request for it."""
        self._fence()
        status, data = await self._call("POST", UNITS_PATH, worker_spec.body)
        if status in (HTTPStatus.OK, HTTPStatus.CREATED):
            return Created(is_deleted=bool(data.get("deleted")))
        return (
            Pending("the worker is being created")
            if status == HTTPStatus.ACCEPTED
            else parse_error(status, data)
        )

    async def delete(self, name: str, etag: str) -> bool:
        """Delete the worker with that ETag; return whether it is deleted or being deleted.

        If the unit has changed, or another unit has its name, nothing happens: the next reconcile
        observes it.
        """
        self._fence()
        status, data = await self._call("DELETE", f"{UNITS_PATH}/{name}", if_match=etag)
        is_done = status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_FOUND)
        if not is_done and status != HTTPStatus.PRECONDITION_FAILED:
            log.warning("worker_not_deleted", extra={"worker": name, "answer": str(data)[:200]})
        return is_done

    async def is_operation_finished(self, worker_spec: WorkerSpec) -> bool:
        """Whether the operation of a worker has succeeded or failed."""
        status, data = await self._call(
            "GET", f"{JOBS_PATH}/{quote(worker_spec.operation_id, safe='')}"
        )
        return status == HTTPStatus.OK and data.get("status") in FINISHED_STATUSES

    async def _call(
        self, method: str, path: str, body: Any = None, if_match: str = ""
    ) -> tuple[int, dict[str, Any]]:
        """Return the status and the content of the envelope; status 0 without a response."""
        timeout = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_SECONDS)
        headers: dict[str, str] = {hdrs.IF_MATCH: if_match} if if_match else {}
        try:
            headers |= authorization_header(self._token_file)
            async with self._session.request(
                method, f"{self._url}{path}", json=body, headers=headers, timeout=timeout
            ) as response:
                return response.status, parse_envelope(await response.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            return 0, {"message": f"the runtime API does not respond: {reason}"}
        except ConfigurationError as error:
            return 0, {"message": str(error)}


def authorization_header(token_file: str) -> dict[str, str]:
    """Return the header with our token, read from its file; empty without a file.

    Raises ConfigurationError if the file contains anything but one token.
    """
    if not token_file:
        return {}
    token = read_secret_file(token_file, TOKEN_FILE_KEY)
    if len(token.split()) != 1 or not token.isprintable():
        raise ConfigurationError(
            f"{TOKEN_FILE_KEY}: {token_file!r} must contain one token and nothing else"
        )
    return {hdrs.AUTHORIZATION: f"Bearer {token}"}


def parse_envelope(payload: bytes) -> dict[str, Any]:
    """Return the data or the error of a response body."""
    try:
        envelope = msgspec.json.decode(payload, type=dict[str, Any]) if payload else {}
    except msgspec.DecodeError:
        return {"message": "the response of the runtime API is not a JSON object"}
    content = envelope.get("data", envelope.get("error"))
    return content if isinstance(content, dict) else {}


def parse_error(status: int, data: dict[str, Any]) -> CreateResponse:
    """Return a rejection; Pending for responses after which the operation may be running."""
    message = str(data.get("message", f"status {status}"))
    is_definite = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    if is_definite and status not in INCONCLUSIVE_STATUSES:
        return Rejected(str(data.get("code", status)), message)
    return Pending(message)
