"""What the API server says when it does not do what was asked, by what can be done about it."""

from typing import Final

import msgspec

from apiserver.kube.decoding import UNDECODABLE
from apiserver.kube.port import (
    AbsentError,
    ClusterAnswerError,
    ClusterBusyError,
    ClusterError,
    ClusterRefusedError,
    ClusterUnfitError,
    ContinueExpiredError,
    QuotaExceededError,
    RejectedError,
    StaleError,
    TakenError,
)
from apiserver.kube.request import Answer, Call
from apiserver.kube.wording import cut

_QUOTA: Final = "exceeded quota"
_LONGEST_MESSAGE: Final = 2000


class _Cause(msgspec.Struct):
    field: str = ""


class _Details(msgspec.Struct):
    causes: tuple[_Cause, ...] | None = None


class Status(msgspec.Struct):
    """The answer of an API server that refuses."""

    message: str = ""
    reason: str = ""
    details: _Details | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """Which fields are wrong, each once, without what they hold."""
        causes = (self.details.causes if self.details else None) or ()
        return tuple(dict.fromkeys(cause.field for cause in causes if cause.field))


_ADVICE: Final[dict[int, tuple[type[ClusterError], str]]] = {
    401: (ClusterRefusedError, " Check the token or certificate in kubeconfig."),
    403: (ClusterRefusedError, " Check that manifests/rbac is applied."),
    409: (StaleError, ""),
    410: (ContinueExpiredError, ""),
}


def refused(server: str, call: Call, answer: Answer) -> ClusterError:
    """The server answered, and not with what was asked for."""
    status = read(answer.body)
    said = f"{server} answered {call} with {answer.status}: {cut(status.message)}."
    match answer.status:
        case 422 if call.method == "PATCH" and "metadata.uid" in status.fields:
            return StaleError(said)  # so the server tells of another object by that name
        case 400 | 413 | 422:
            return rejected(server, call, answer.status, status)
        case 403 | 404 | 409:
            return opposed(said, call, answer.status, status)
        case 429:
            return ClusterBusyError(said, answer.retry_after)
        case code if code >= 500:
            return ClusterAnswerError(f"{said} Check the log of the API server.")
        case _:
            return advised(said, answer.status)


def rejected(server: str, call: Call, code: int, status: Status) -> RejectedError:
    """The message can repeat values of the request, secrets too: the text names fields only."""
    what = " ".join(part for part in (status.reason, cut(", ".join(status.fields))) if part)
    text = f"{server} answered {call} with {code}: {what or 'no reason'}."
    return RejectedError(text, status.message[:_LONGEST_MESSAGE])


def opposed(said: str, call: Call, code: int, status: Status) -> ClusterError:
    """The same code for what concerns one object and for what concerns us."""
    match code:
        case 403 if _QUOTA in status.message:
            return QuotaExceededError(said, status.message[status.message.index(_QUOTA) :])
        case 404 if status.reason == "NotFound" and call.method != "POST":
            return AbsentError(said)
        case 404:  # of a create: its namespace; without a reason: its kind
            return ClusterUnfitError(f"{said} Check that manifests are applied.")
        case 409 if status.reason == "AlreadyExists":
            return TakenError(said)
        case 409 if call.method == "POST":  # of a create: a quota that others use up meanwhile
            return ClusterBusyError(said)
        case _:
            return advised(said, code)


def advised(said: str, code: int) -> ClusterError:
    """What follows from the code alone."""
    check = " Check that the address in kubeconfig is an API server."
    kind, advice = _ADVICE.get(code, (ClusterUnfitError, check))
    return kind(said + advice)


def read(body: bytes) -> Status:
    """The Status of Kubernetes, or the text that a proxy sent in its place."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except UNDECODABLE:
        status = Status(message=" ".join(body.decode(errors="replace").split()))
    return status if status.message else msgspec.structs.replace(status, message="no message")
