"""What can go wrong between us and an API server, by what the caller can do about it."""


class AccessError(Exception):
    """The kubeconfig or service account cannot be used; a person must mend it."""


class CannotListenError(Exception):
    """An address to serve on is taken or not ours."""


class ApiError(Exception):
    """A call to the API server failed; the text says which server and what to check."""


class UnreachableError(ApiError):
    """There was no connection, it broke, or no answer came in time."""


class StatusError(ApiError):
    """The server answered with an error; `status` is its HTTP code."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class UnreadableError(ApiError):
    """The server's answer is not what was asked for."""
