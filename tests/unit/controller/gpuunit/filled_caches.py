"""Caches that hold given objects, without a server."""

from random import Random

import msgspec
from prometheus_client import CollectorRegistry

from controller.caches import Caches
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.client.decoding import ObjectList
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.builders.gpu_units import unit_settings
from tests.support.clocks.virtual_clock import VirtualClock
from tests.unit.controller.scripted_source import ScriptedSource


def caches_with(*units: GPUUnit) -> Caches:
    """Return caches of the usual namespaces that hold only these units."""
    clock = VirtualClock()
    metrics = InformerMetrics(CollectorRegistry())
    caches = Caches(ScriptedSource(clock), unit_settings().namespaces, metrics, clock, Random(7))
    for namespace, informer in zip(
        unit_settings().namespaces.units, caches.units.informers, strict=True
    ):
        here = [unit for unit in units if unit.metadata.namespace == namespace]
        informer.replace(ObjectList(here, "1"))
    return caches


def with_generation(unit: GPUUnit, generation: int) -> GPUUnit:
    """Return the unit with the generation after so many writes of its spec."""
    version = str(generation)
    meta = msgspec.structs.replace(unit.metadata, generation=generation, resource_version=version)
    return msgspec.structs.replace(unit, metadata=meta)
