"""Caches that hold given objects, without a server."""

import msgspec

from controller.runtime.client.decoding import ObjectList
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.builders.gpu_units import unit_settings
from tests.support.clocks.virtual_clock import VirtualClock
from tests.support.cluster.caches import UnstartedCaches
from tests.unit.controller.scripted_source import ScriptedSource


def caches_with(*units: GPUUnit) -> UnstartedCaches:
    """Return caches of the usual namespaces that hold only these units."""
    clock = VirtualClock()
    caches = UnstartedCaches(ScriptedSource(clock), unit_settings().namespaces, clock)
    for namespace, informer in zip(
        unit_settings().namespaces.units, caches.units.informers, strict=True
    ):
        namespace_units = [unit for unit in units if unit.metadata.namespace == namespace]
        informer.replace(ObjectList(namespace_units, "1"))
    return caches


def with_generation(unit: GPUUnit, generation: int) -> GPUUnit:
    """Return the unit with the generation after so many writes of its spec."""
    version = str(generation)
    meta = msgspec.structs.replace(unit.metadata, generation=generation, resource_version=version)
    return msgspec.structs.replace(unit, metadata=meta)
