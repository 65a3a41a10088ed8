"""What a Kubernetes API server says it is."""

import msgspec


class ServerVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to GET /version; vendors append signs to `minor`, as in `33+`."""

    major: str
    minor: str
    git_version: str
