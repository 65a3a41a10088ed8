"""Services and NetworkPolicies, limited to the fields that the programs read."""

from typing import Any

import msgspec

from shared.k8s.meta import ObjectMeta


class NetworkPolicy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The connections that pods may have.

    The spec stays undecoded, so that it can be compared with the applied one.
    """

    metadata: ObjectMeta
    spec: dict[str, Any] = {}


class Service(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A name and an address for pods.

    The spec stays undecoded, so that it can be compared with the applied one.
    """

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
