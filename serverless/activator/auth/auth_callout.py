"""Answers the auth callout of NATS: workers prove which function they belong to."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import nats.errors
from nats.aio.msg import Msg

from controller.runtime import Clock
from serverless.activator.auth.jwt import InvalidTokenError, JWTClaims, TokenSigner, decode_claims
from serverless.activator.auth.permissions import publish_subjects, subscribe_subjects
from serverless.activator.auth.worker_credentials import WorkerUser, parse_worker_user
from serverless.nats.connection import QueueConnection
from serverless.nats.subscription import ReconnectingSubscription
from shared.invocation.queue_names import QueueNames
from shared.time import now_ms

AUTH_SUBJECT: Final = "$SYS.REQ.USER.AUTH"
QUEUE_GROUP: Final = "gpu-runtime-activator"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CalloutPolicy:
    """How workers are authenticated: the key of their passwords and their NATS account."""

    worker_key: bytes
    account: str
    queue_names: QueueNames
    is_known_worker: Callable[[WorkerUser], bool]


def authenticate(request: JWTClaims, policy: CalloutPolicy) -> WorkerUser | None:
    """Return the worker of a connect request; None if its password is wrong or it is unknown."""
    options = request.get("connect_opts", {})
    user = parse_worker_user(str(options.get("user", "")))
    if user is None or not user.is_valid_password(str(options.get("pass", "")), policy.worker_key):
        return None
    return user if policy.is_known_worker(user) else None


def user_jwt_claims(user: WorkerUser, nkey: str, policy: CalloutPolicy) -> JWTClaims:
    """Return the claims of a worker: its account and its permissions."""
    return {
        "sub": nkey,
        "aud": policy.account,
        "name": user.name,
        "nats": {
            "type": "user",
            "version": 2,
            "subs": -1,
            "data": -1,
            "payload": -1,
            "pub": {"allow": publish_subjects(user, policy.queue_names)},
            "sub": {"allow": subscribe_subjects(user, policy.queue_names)},
        },
    }


def callout_response(
    request: JWTClaims, policy: CalloutPolicy, signer: TokenSigner, now_seconds: int
) -> str:
    """Return the signed response; a rejected client gets no reason."""
    user, nkey = authenticate(request, policy), str(request.get("user_nkey", ""))
    response: JWTClaims = {"type": "authorization_response", "version": 2}
    if user is None:
        response["error"] = "unknown worker or wrong password"
    else:
        response["jwt"] = signer.sign(user_jwt_claims(user, nkey, policy), now_seconds)
    server = str(request.get("server_id", {}).get("id", ""))
    return signer.sign({"sub": nkey, "aud": server, "nats": response}, now_seconds)


class AuthCallout:
    """The auth callout service; all replicas of the activator share the requests."""

    def __init__(
        self, connection: QueueConnection, policy: CalloutPolicy, signer: TokenSigner, clock: Clock
    ) -> None:
        self._connection = connection
        self._policy = policy
        self._signer = signer
        self._clock = clock

    async def run(self) -> None:
        """Answer until cancelled."""
        await ReconnectingSubscription(
            self._connection, AUTH_SUBJECT, self._respond, self._clock, QUEUE_GROUP
        ).run()

    async def _respond(self, message: Msg) -> None:
        try:
            request = decode_claims(message.data).get("nats", {})
            text = callout_response(
                request, self._policy, self._signer, now_ms(self._clock) // 1000
            )
            await message.respond(text.encode())
        except (InvalidTokenError, nats.errors.Error) as error:
            log.warning("callout_failed", extra={"error": str(error)})
