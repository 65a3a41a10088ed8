"""The GPUUnit that a pool makes."""

from typing import Any

import msgspec

from controller.kinds import STOCK_POOLS
from controller.runtime import controller_reference
from shared.v1alpha1 import wellknown
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.unit_resources import UnitResources


def unit_manifest(pool: StockPool, name: str) -> dict[str, Any]:
    """Stock with the pool's envelope, owned by the pool until somebody claims it."""
    return {
        "metadata": {
            "namespace": pool.metadata.namespace,
            "name": name,
            "labels": {
                wellknown.POOL_LABEL: pool.metadata.name,
                wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
            },
            "ownerReferences": [controller_reference(STOCK_POOLS, pool)],
        },
        "spec": msgspec.to_builtins(unit_resources(pool)),
    }


def unit_resources(pool: StockPool) -> UnitResources:
    """What each unit of the pool takes of a node."""
    return UnitResources(
        **{field: getattr(pool.spec, field) for field in UnitResources.__struct_fields__}
    )
