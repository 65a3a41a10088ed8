"""The GPUUnit that a pool makes."""

from typing import Any

import msgspec

from shared import wellknown
from shared.meta import OwnerReference
from shared.v1alpha1.envelope import Envelope
from shared.v1alpha1.group import API_VERSION
from shared.v1alpha1.stockpool import KIND, StockPool


def unit(pool: StockPool, name: str) -> dict[str, Any]:
    """Stock with the pool's envelope, owned by the pool until somebody claims it."""
    return {
        "metadata": {
            "namespace": pool.metadata.namespace,
            "name": name,
            "labels": {
                wellknown.POOL_LABEL: pool.metadata.name,
                wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY,
            },
            "ownerReferences": [msgspec.to_builtins(owner(pool))],
        },
        "spec": msgspec.to_builtins(envelope(pool)),
    }


def envelope(pool: StockPool) -> Envelope:
    """What each unit of the pool takes of a node."""
    return Envelope(**{field: getattr(pool.spec, field) for field in Envelope.__struct_fields__})


def owner(pool: StockPool) -> OwnerReference:
    """What makes a unit the pool's; a released claim puts it back."""
    return OwnerReference(
        api_version=API_VERSION,
        kind=KIND,
        name=pool.metadata.name,
        uid=pool.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
