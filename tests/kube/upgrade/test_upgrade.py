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
    """Return the spec and generation of every object of ours, by its uid."""
    where = [(resource.plural, ns) for resource in RESOURCES for ns in (site.namespaces.stock, "")]
    objects = [item for kind, ns in where for item in await site.list(kind, namespace=ns)]
    return {
        item["metadata"]["uid"]: (item["spec"], item["metadata"]["generation"]) for item in objects
    }


async def pods(site: IsolatedInstallation) -> set[str]:
    """Return the uids of the units' pods; without the pods of storages, which are temporary."""
    names = (site.namespaces.stock, site.namespaces.instance)
    lists = [await site.list("pods", namespace=name, labelSelector=UNIT_LABEL) for name in names]
    return {pod["metadata"]["uid"] for items in lists for pod in items}


async def success_count(registry: CollectorRegistry, loop: str) -> float:
    """Return the number of successful reconciles of a loop."""
    labels = {"controller": loop, "result": "success"}
    return registry.get_sample_value("controller_runtime_reconcile_total", labels) or 0.0


async def test_an_upgrade_changes_neither_stored_objects_nor_pods_of_units(
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
        await wait_pools_full(installation)
    objects_before, pods_before, units = (
        await stored(installation),
        await pods(installation),
        await count_units(installation),
    )
    assert len(pods_before) == units
    async with (
        apply_overlay(installed_control_plane, "ha"),
        run_controller(installation) as registry,
    ):
        for loop, count in (("gpuunit", units), ("gpustorage", 1), ("stockpool", 1)):
            await eventually(
                lambda loop=loop: success_count(registry, loop),  # type: ignore[misc]
                lambda actual, count=count: actual >= count,  # type: ignore[misc]
            )
        for name in ("notebook", "plain"):
            await installation.wait_unit_reason(name, "UnitReady")

    assert await stored(installation) == objects_before
    assert await pods(installation) == pods_before
    for resource in RESOURCES:
        definition = await installed_control_plane.admin.get(
            f"{DEFINITIONS}/{resource.plural}.{GROUP}"
        )
        assert definition["status"]["storedVersions"] == [VERSION]


async def wait_pools_full(site: IsolatedInstallation) -> None:
    async def incomplete_pools() -> list[str]:
        pools = await site.list("stockpools", namespace=site.namespaces.stock)
        return [
            pool["metadata"]["name"]
            for pool in pools
            if pool.get("status", {}).get("available") != pool["spec"]["replicas"]
        ]

    await eventually(incomplete_pools, lambda names: not names)


async def count_units(site: IsolatedInstallation) -> int:
    names = (site.namespaces.stock, site.namespaces.instance)
    return sum([len(await site.list("gpuunits", namespace=name)) for name in names])
