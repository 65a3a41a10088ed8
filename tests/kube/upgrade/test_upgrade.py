"""A new release is installed while units run: what is stored stays, and so do users' pods."""

from typing import Any

from prometheus_client import CollectorRegistry

from hack.cluster.control_plane import ControlPlane
from hack.generate.crd_resources import RESOURCES
from shared.v1alpha1.group import GROUP, VERSION
from shared.v1alpha1.wellknown import UNIT_LABEL
from tests.support.builders.samples import SAMPLES, sample
from tests.support.builders.simulated_units import a_users_unit
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.overlays import applied
from tests.support.wait.eventually import eventually

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def stored(site: Site) -> dict[str, Any]:
    """Every object of ours as people wrote it, by its uid; what is said about it may change."""
    where = [(each.plural, ns) for each in RESOURCES for ns in (site.namespaces.stock, "")]
    found = [item for kind, ns in where for item in await site.list(kind, namespace=ns)]
    return {
        each["metadata"]["uid"]: (each["spec"], each["metadata"]["generation"]) for each in found
    }


async def pods(site: Site) -> set[str]:
    """Those of units; the pods that fill and show storages come and go."""
    names = (site.namespaces.stock, site.namespaces.instance)
    found = [await site.list("pods", namespace=name, labelSelector=UNIT_LABEL) for name in names]
    return {each["metadata"]["uid"] for items in found for each in items}


async def has_looked_at(registry: CollectorRegistry, loop: str) -> float:
    """How often a loop has come to the end of a turn."""
    labels = {"controller": loop, "result": "success"}
    return registry.get_sample_value("controller_runtime_reconcile_total", labels) or 0.0


async def test_stored_objects_and_their_pods_outlive_a_new_release(
    installed: ControlPlane, site: Site
) -> None:
    async with controlled(site):
        for path in SAMPLES:
            body = sample(path, site)
            plural = f"{body['kind'].lower()}s"
            await site.create(plural, body, namespace=body["metadata"]["namespace"])
        await site.create("gpuunits", a_users_unit("plain"))
        for name in ("notebook", "plain"):
            await site.unit_with(name, "UnitReady")
        await all_pools_are_full(site)
    kept, before, units = await stored(site), await pods(site), await count_units(site)
    assert len(before) == units
    async with applied(installed, "ha"), controlled(site) as registry:
        for loop, count in (("gpuunit", units), ("gpustorage", 1), ("stockpool", 1)):
            await eventually(
                lambda loop=loop: has_looked_at(registry, loop),  # type: ignore[misc]
                lambda times, count=count: times >= count,  # type: ignore[misc]
            )
        for name in ("notebook", "plain"):
            await site.unit_with(name, "UnitReady")

    assert await stored(site) == kept
    assert await pods(site) == before
    for each in RESOURCES:
        definition = await installed.admin.get(f"{DEFINITIONS}/{each.plural}.{GROUP}")
        assert definition["status"]["storedVersions"] == [VERSION]


async def all_pools_are_full(site: Site) -> None:
    async def lacking() -> list[str]:
        pools = await site.list("stockpools", namespace=site.namespaces.stock)
        return [
            each["metadata"]["name"]
            for each in pools
            if each.get("status", {}).get("available") != each["spec"]["replicas"]
        ]

    await eventually(lacking, lambda seen: not seen)


async def count_units(site: Site) -> int:
    names = (site.namespaces.stock, site.namespaces.instance)
    return sum([len(await site.list("gpuunits", namespace=name)) for name in names])
