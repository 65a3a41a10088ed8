"""An upgrade while units run: stored objects and users' pods stay."""

from typing import Any

from prometheus_client import CollectorRegistry

from hack.cluster.control_plane import ControlPlane
from hack.generate.crd_resources import RESOURCES
from shared.v1alpha1.group import GROUP, VERSION
from shared.v1alpha1.wellknown import UNIT_LABEL
from tests.support.builders.samples import SAMPLE_PATHS, load_sample
from tests.support.builders.simulated_units import user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.overlays import apply_overlay
from tests.support.wait.eventually import eventually

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def stored(site: IsolatedInstallation) -> dict[str, Any]:
    """Return every object of ours as people wrote it, by its uid.

    The status is left out, because it may change.
    """
    where = [(each.plural, ns) for each in RESOURCES for ns in (site.namespaces.stock, "")]
    found = [item for kind, ns in where for item in await site.list(kind, namespace=ns)]
    return {
        each["metadata"]["uid"]: (each["spec"], each["metadata"]["generation"]) for each in found
    }


async def pods(site: IsolatedInstallation) -> set[str]:
    """Return the uids of the units' pods; the pods that prepare and serve storages come and go."""
    names = (site.namespaces.stock, site.namespaces.instance)
    found = [await site.list("pods", namespace=name, labelSelector=UNIT_LABEL) for name in names]
    return {each["metadata"]["uid"] for items in found for each in items}


async def has_looked_at(registry: CollectorRegistry, loop: str) -> float:
    """Return how many passes a loop has completed successfully."""
    labels = {"controller": loop, "result": "success"}
    return registry.get_sample_value("controller_runtime_reconcile_total", labels) or 0.0


async def test_stored_objects_and_their_pods_outlive_a_new_release(
    installed_control_plane: ControlPlane, installation: IsolatedInstallation
) -> None:
    async with run_controller(installation):
        for path in SAMPLE_PATHS:
            body = load_sample(path, installation)
            plural = f"{body['kind'].lower()}s"
            await installation.create(plural, body, namespace=body["metadata"]["namespace"])
        await installation.create("gpuunits", user_unit_manifest("plain"))
        for name in ("notebook", "plain"):
            await installation.wait_unit_reason(name, "UnitReady")
        await all_pools_are_full(installation)
    kept, before, units = (
        await stored(installation),
        await pods(installation),
        await count_units(installation),
    )
    assert len(before) == units
    async with (
        apply_overlay(installed_control_plane, "ha"),
        run_controller(installation) as registry,
    ):
        for loop, count in (("gpuunit", units), ("gpustorage", 1), ("stockpool", 1)):
            await eventually(
                lambda loop=loop: has_looked_at(registry, loop),  # type: ignore[misc]
                lambda times, count=count: times >= count,  # type: ignore[misc]
            )
        for name in ("notebook", "plain"):
            await installation.wait_unit_reason(name, "UnitReady")

    assert await stored(installation) == kept
    assert await pods(installation) == before
    for each in RESOURCES:
        definition = await installed_control_plane.admin.get(f"{DEFINITIONS}/{each.plural}.{GROUP}")
        assert definition["status"]["storedVersions"] == [VERSION]


async def all_pools_are_full(site: IsolatedInstallation) -> None:
    async def lacking() -> list[str]:
        pools = await site.list("stockpools", namespace=site.namespaces.stock)
        return [
            each["metadata"]["name"]
            for each in pools
            if each.get("status", {}).get("available") != each["spec"]["replicas"]
        ]

    await eventually(lacking, lambda seen: not seen)


async def count_units(site: IsolatedInstallation) -> int:
    names = (site.namespaces.stock, site.namespaces.instance)
    return sum([len(await site.list("gpuunits", namespace=name)) for name in names])
