"""Manifest of the GPUUnits of a pool."""

from typing import Any

import msgspec

from controller.kinds import STOCK_POOLS
from controller.runtime import controller_reference
from shared.v1alpha1 import wellknown
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.unit_resources import UnitResources


def unit_manifest(pool: StockPool, name: str) -> dict[str, Any]:
    """Build stock with the pool's resources; the pool owns it until an operation claims it."""
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
    """Return the resources of each unit of the pool."""
    return UnitResources(
        **{field: getattr(pool.spec, field) for field in UnitResources.__struct_fields__}
    )
