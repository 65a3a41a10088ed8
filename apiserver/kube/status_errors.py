"""What the API server says when it does not do what was asked, by what can be done about it."""

from typing import Final

import msgspec

from apiserver.kube import errors as kube_errors
from apiserver.kube.decoding import UNDECODABLE
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


_ADVICE: Final[dict[int, tuple[type[kube_errors.ClusterError], str]]] = {
    401: (kube_errors.ClusterRefusedError, " Check the token or certificate in kubeconfig."),
    403: (kube_errors.ClusterRefusedError, " Check that manifests/rbac is applied."),
    409: (kube_errors.StaleError, ""),
    410: (kube_errors.ContinueExpiredError, ""),
}


def refused(server: str, call: Call, answer: Answer) -> kube_errors.ClusterError:
    """The server answered, and not with what was asked for."""
    status = read(answer.body)
    said = f"{server} answered {call} with {answer.status}: {cut(status.message)}."
    match answer.status:
        case 422 if call.method == "PATCH" and "metadata.uid" in status.fields:
            return kube_errors.StaleError(
                said
            )  # so the server tells of another object by that name
        case 400 | 413 | 422:
            return rejected(server, call, answer.status, status)
        case 403 | 404 | 409:
            return opposed(said, call, answer.status, status)
        case 429:
            return kube_errors.ClusterBusyError(said, answer.retry_after)
        case code if code >= 500:
            return kube_errors.ClusterAnswerError(f"{said} Check the log of the API server.")
        case _:
            return advised(said, answer.status)


def rejected(server: str, call: Call, code: int, status: Status) -> kube_errors.RejectedError:
    """The message can repeat values of the request, secrets too: the text names fields only."""
    what = " ".join(part for part in (status.reason, cut(", ".join(status.fields))) if part)
    text = f"{server} answered {call} with {code}: {what or 'no reason'}."
    return kube_errors.RejectedError(text, status.message[:_LONGEST_MESSAGE])


def opposed(said: str, call: Call, code: int, status: Status) -> kube_errors.ClusterError:
    """The same code for what concerns one object and for what concerns us."""
    match code:
        case 403 if _QUOTA in status.message:
            return kube_errors.QuotaExceededError(
                said, status.message[status.message.index(_QUOTA) :]
            )
        case 404 if status.reason == "NotFound" and call.method != "POST":
            return kube_errors.AbsentError(said)
        case 404:  # of a create: its namespace; without a reason: its kind
            return kube_errors.ClusterUnfitError(f"{said} Check that manifests are applied.")
        case 409 if status.reason == "AlreadyExists":
            return kube_errors.TakenError(said)
        case 409 if call.method == "POST":  # of a create: a quota that others use up meanwhile
            return kube_errors.ClusterBusyError(said)
        case _:
            return advised(said, code)


def advised(said: str, code: int) -> kube_errors.ClusterError:
    """What follows from the code alone."""
    check = " Check that the address in kubeconfig is an API server."
    kind, advice = _ADVICE.get(code, (kube_errors.ClusterUnfitError, check))
    return kind(said + advice)


def read(body: bytes) -> Status:
    """The Status of Kubernetes, or the text that a proxy sent in its place."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except UNDECODABLE:
        status = Status(message=" ".join(body.decode(errors="replace").split()))
    return status if status.message else msgspec.structs.replace(status, message="no message")
