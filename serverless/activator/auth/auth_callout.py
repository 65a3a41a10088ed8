"""Answers the queue's question who somebody is: workers prove which function they are of."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import nats.errors
from nats.aio.msg import Msg

from controller.runtime.clock import Clock
from serverless.activator.auth.jwt import Claims, Signer, UnreadableTokenError, claims_in
from serverless.activator.auth.permissions import may_publish, may_subscribe
from serverless.activator.auth.worker_credentials import WorkerUser, user_named
from serverless.activator.timestamps import now_ms
from serverless.nats.connection import QueueConnection
from serverless.nats.subscription import Listening
from shared.invocation.queue_names import QueueNames

SUBJECT: Final = "$SYS.REQ.USER.AUTH"
GROUP: Final = "gpu-runtime-activator"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gate:
    """By what workers are let in: the key of their passwords, and their account at the queue."""

    key: bytes
    account: str
    names: QueueNames
    is_known: Callable[[WorkerUser], bool]


def admitted(asked: Claims, gate: Gate) -> WorkerUser | None:
    """Whose workers the one who asks belongs to; None where that is not proven."""
    given = asked.get("connect_opts", {})
    user = user_named(str(given.get("user", "")))
    if user is None or not user.is_proven_by(str(given.get("pass", "")), gate.key):
        return None
    return user if gate.is_known(user) else None


def user_claims(user: WorkerUser, nkey: str, gate: Gate) -> Claims:
    """What the server is told of a worker: its account and what it may do there."""
    return {
        "sub": nkey,
        "aud": gate.account,
        "name": user.name,
        "nats": {
            "type": "user",
            "version": 2,
            "subs": -1,
            "data": -1,
            "payload": -1,
            "pub": {"allow": may_publish(user, gate.names)},
            "sub": {"allow": may_subscribe(user, gate.names)},
        },
    }


def response(asked: Claims, gate: Gate, signer: Signer, now: int) -> str:
    """The signed answer to a question; a stranger hears no reason."""
    user, nkey = admitted(asked, gate), str(asked.get("user_nkey", ""))
    said: Claims = {"type": "authorization_response", "version": 2}
    if user is None:
        said["error"] = "not a worker of a function that there is"
    else:
        said["jwt"] = signer.token(user_claims(user, nkey, gate), now)
    server = str(asked.get("server_id", {}).get("id", ""))
    return signer.token({"sub": nkey, "aud": server, "nats": said}, now)


class Callout:
    """One of a group of responders: every replica of the activator answers, also standbys."""

    def __init__(
        self, connection: QueueConnection, gate: Gate, signer: Signer, clock: Clock
    ) -> None:
        self._connection = connection
        self._gate = gate
        self._signer = signer
        self._clock = clock

    async def run(self) -> None:
        """Answer for ever."""
        await Listening(self._connection, SUBJECT, self._answer, self._clock, GROUP).run()

    async def _answer(self, message: Msg) -> None:
        try:
            asked = claims_in(message.data).get("nats", {})
            text = response(asked, self._gate, self._signer, now_ms(self._clock) // 1000)
            await message.respond(text.encode())
        except (UnreadableTokenError, nats.errors.Error) as error:
            log.warning("callout_failed", extra={"error": str(error)})
