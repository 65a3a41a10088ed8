"""Services, as far as we read them."""

from typing import Any

import msgspec

from shared.k8s.meta import ObjectMeta


class Service(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A name and address for pods; the spec stays as it came, to be compared with ours."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
