"""What every Kubernetes object says about itself, as far as we read it."""

import msgspec


class ObjectMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The name of an object and the labels people filter by."""

    name: str
    labels: dict[str, str] = {}
