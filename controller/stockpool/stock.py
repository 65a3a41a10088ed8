"""Classification of a pool's units: unclaimed stock, claimed stock, and others."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from shared.k8s.conditions import find_condition
from shared.k8s.meta import Condition
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import ConditionType
from shared.v1alpha1.stock_claim import is_claimed
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.unit_resources import UnitResources

# Every field of the resources; a spec has more fields.
RESOURCE_VALUES: Final = attrgetter(*UnitResources.__struct_fields__)


def unclaimed_units(pool: StockPool, units: Iterable[GPUUnit]) -> list[GPUUnit]:
    """Return the pool's stock: units that it owns, that are unclaimed and not being deleted."""
    return [unit for unit in units if is_unclaimed_stock(pool, unit)]


def is_unclaimed_stock(pool: StockPool, unit: GPUUnit) -> bool:
    """Return whether the unit counts towards the pool's replicas."""
    owners = unit.metadata.owner_references
    is_owned = any(owner.controller and owner.uid == pool.metadata.uid for owner in owners)
    return is_owned and not is_claimed(unit) and unit.metadata.deletion_timestamp is None


def is_unit_ready(unit: GPUUnit) -> bool:
    """Return whether the unit can be claimed at once."""
    return unit.status.phase == UnitPhase.READY


def is_outdated(pool: StockPool, unit: GPUUnit) -> bool:
    """Return whether the unit's resources differ from those of the pool's spec."""
    return bool(RESOURCE_VALUES(unit.spec) != RESOURCE_VALUES(pool.spec))


def unit_ready_condition(unit: GPUUnit) -> Condition | None:
    """Return the condition Ready of the unit; None before it is set."""
    return find_condition(unit.status.conditions, ConditionType.READY)
