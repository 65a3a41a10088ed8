"""The GPUUnit that a pool makes."""

from typing import Any

import msgspec

from controller.kinds import STOCK_POOLS
from controller.runtime.client.ownership import controlled_by
from shared.v1alpha1 import wellknown
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.unit_resources import Envelope


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
            "ownerReferences": [controlled_by(STOCK_POOLS, pool)],
        },
        "spec": msgspec.to_builtins(envelope(pool)),
    }


def envelope(pool: StockPool) -> Envelope:
    """What each unit of the pool takes of a node."""
    return Envelope(**{field: getattr(pool.spec, field) for field in Envelope.__struct_fields__})
