"""NATS client without a server, which stores messages and records the sent ones."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

API: Final = "$JS.API."
DIRECT: Final = f"{API}DIRECT.GET."
AT: Final = "2026-01-01T00:00:00Z"
LARGE: Final = 4096
EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
NO_MESSAGE: Final = {"error": {"code": 404, "err_code": 10037, "description": "no message found"}}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a stream."""

    subject: str
    sequence: int
    data: bytes


class RecordedQueue:
    """Queue with the NATS functions that the programs use; its messages are old."""

    is_connected = True

    def __init__(
        self, kept: Mapping[str, str], consumers: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        self.sent: list[dict[str, Any]] = []
        self._consumers = consumers
        self._kept: list[Message] = []
        self._inboxes: dict[str, asyncio.Queue[Msg]] = {}
        for subject, text in kept.items():
            self._keep(subject, text.encode())

    async def request(
        self,
        subject: str,
        data: bytes = b"",
        timeout: float = 1.0,  # noqa: ASYNC109 - as in the library
        headers: Mapping[str, str] | None = None,
    ) -> Msg:
        """Return the response of the server at once; `timeout` has no effect."""
        if subject.startswith(DIRECT):
            return self._direct(subject.removeprefix(DIRECT), data)
        if re.match(r"\$JS\.API\.(STREAM|CONSUMER)\.(INFO|LIST|NAMES|MSG\.GET)", subject):
            return message(msgspec.json.encode(self._stream_info(subject, data)))
        self._note(subject, data, headers or {})
        if subject.startswith(API):
            self._change(subject, data)
            return message(b'{"did_create":true}')
        return message(msgspec.json.encode(self._store(subject, data, headers or {})))

    async def publish(self, subject: str, data: bytes = b"", reply: str = "") -> None:
        """Record a message; with the reply of a known inbox, send the responses to the inbox."""
        if reply in self._inboxes:
            for response in self._batch(data):
                self._inboxes[reply].put_nowait(response)
        else:
            self._note(subject, data, {})

    def new_inbox(self) -> str:
        """Return a subject for responses."""
        return f"_INBOX.{len(self._inboxes)}"

    async def subscribe(self, subject: str) -> "Inbox":
        """Subscribe to responses."""
        self._inboxes[subject] = asyncio.Queue()
        return Inbox(self._inboxes[subject])

    def _note(self, subject: str, data: bytes, headers: Mapping[str, str]) -> None:
        header_fields = {"headers": dict(headers)} if headers else {}
        self.sent.append({"subject": subject, **header_fields, "data": shown(data)})

    def _store(self, subject: str, data: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        """Store a message, or return an error for a wrong sequence or a used subject."""
        last = self._last(subject)
        revision = str(last.sequence if last else 0)
        if headers.get(EXPECTED, revision) != revision:
            return {"error": {"err_code": 10071, "description": "wrong last sequence"}}
        if last is not None and ".invoke." in subject:
            return {"error": {"err_code": 10077, "description": "one message per subject"}}
        return {"seq": self._keep(subject, data)}

    def _keep(self, subject: str, data: bytes) -> int:
        last = self._last(subject)
        if last is not None and subject.startswith("$KV."):
            self._remove(last.sequence)
        self._kept.append(Message(subject, len(self._kept) + 1, data))
        return len(self._kept)

    def _remove(self, sequence: int) -> None:
        self._kept[sequence - 1] = Message("", sequence, b"")

    def _change(self, subject: str, data: bytes) -> None:
        if ".MSG.DELETE." in subject:
            self._remove(msgspec.json.decode(data)["seq"])

    def _direct(self, where: str, data: bytes) -> Msg:
        subject = where.partition(".")[2]
        found = next(self._matching(data), None) if data else self._last(subject)
        return message(b"", {"Status": "404"}) if found is None else direct(found)

    def _batch(self, data: bytes) -> Iterator[Msg]:
        yield from map(direct, self._matching(data))
        yield message(b"", {"Status": "204"})

    def _stream_info(self, subject: str, data: bytes) -> dict[str, Any]:
        """Return the response to a request for information about a stream."""
        request = msgspec.json.decode(data) if data else {}
        if ".MSG.GET." in subject:
            last = request.get("last_by_subj")
            found = self._last(last) if last else next(self._matching(data), None)
            return NO_MESSAGE if found is None else {"message": stored(found)}
        if ".CONSUMER.LIST." in subject:
            return {"consumers": self._consumers, "total": len(self._consumers)}
        subjects = {stored.subject: 1 for stored in self._matching(data)}
        info = {"streams": [], "total": len(subjects), "num_pending": 0}
        state = {"last_seq": len(self._kept), "messages": 0, "bytes": 0}
        if request.get("offset"):
            subjects = {}
        return {**info, "state": {**state, "subjects": subjects}, "config": {"max_bytes": -1}}

    def _last(self, subject: str) -> Message | None:
        return next((stored for stored in self._kept[::-1] if stored.subject == subject), None)

    def _matching(self, data: bytes) -> Iterator[Message]:
        request = msgspec.json.decode(data) if data else {}
        subject_filter = request.get("next_by_subj") or request.get("subjects_filter") or ""
        pattern = (
            re.escape(subject_filter).replace(r"\*", "[^.]+").replace(r"\>", ">").replace(">", ".+")
        )
        for stored in self._kept:
            if stored.sequence >= request.get("seq", 1) and re.fullmatch(pattern, stored.subject):
                yield stored


@dataclass(frozen=True, slots=True)
class Inbox:
    """Subscription for responses."""

    responses: "asyncio.Queue[Msg]"

    async def next_msg(self, timeout: float) -> Msg:  # noqa: ASYNC109 - as in the library
        """Return the next response; raise TimeoutError if there is none."""
        async with asyncio.timeout(timeout):
            return await self.responses.get()

    async def unsubscribe(self) -> None:
        """Do nothing, because the subscription is not used again."""


def message(data: bytes, headers: dict[str, str] | None = None) -> Msg:
    return Msg(_client=cast(Client, None), data=data, headers=headers)


def direct(found: Message) -> Msg:
    """Return the response to a direct read."""
    where = {"Nats-Subject": found.subject, "Nats-Sequence": str(found.sequence)}
    return message(found.data, {**where, "Nats-Time-Stamp": AT})


def stored(found: Message) -> dict[str, Any]:
    """Return a message in the format of the stream's leader."""
    data = base64.b64encode(found.data).decode()
    return {"subject": found.subject, "seq": found.sequence, "time": AT, "data": data}


def shown(data: bytes) -> Any:
    """Return the text of a message; for a large message, its size and digest."""
    if len(data) > LARGE:
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return data.decode()
