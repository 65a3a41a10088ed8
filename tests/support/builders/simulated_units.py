"""Users' units whose pods do what a simulated node is told to do with them."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders.pods import container_status
from tests.support.cluster.isolated_installation import Site, a_unit, ready_of
from tests.support.wait.eventually import eventually

IMAGE = "example/image:1"
PORTS = {"ports": [{"name": "http", "port": 8888}]}


def a_users_unit(name: str, **spec: Any) -> dict[str, Any]:
    """A unit that starts at once, unless `spec` keeps it from that."""
    return a_unit(name, **{"image": IMAGE, **spec})


def simulated(name: str, mode: str, **labels: str) -> dict[str, Any]:
    """A unit whose pod behaves as `mode`; the table is in docs/local-cluster.md."""
    unit = a_users_unit(name)
    more = {f"sim.local/{key.replace('_', '-')}": value for key, value in labels.items()}
    unit["metadata"]["labels"] = {"sim.local/mode": mode, **more}
    return unit


async def unit_saying(site: Site, name: str, text: str, *, namespace: str = "") -> dict[str, Any]:
    """The unit once its Ready condition has `text` in its message."""
    return await eventually(
        lambda: site.unit(name, namespace=namespace),
        lambda unit: text in ready_of(unit).get("message", ""),
    )


async def unit_seen_at(site: Site, name: str, generation: int) -> dict[str, Any]:
    """The unit once its status is about that generation."""
    return await eventually(
        lambda: site.unit(name),
        lambda unit: unit.get("status", {}).get("observedGeneration") == generation,
    )


async def change(site: Site, name: str, **spec: Any) -> dict[str, Any]:
    """What `kubectl edit` would do to the spec."""
    changed: dict[str, Any] = await site.admin.patch(site.path("gpuunits", name), {"spec": spec})
    return changed


async def pods_of(site: Site, name: str) -> list[dict[str, Any]]:
    return await site.list("pods", labelSelector=f"runtime.lokiwager.io/unit={name}")


async def restarts_of(site: Site, name: str) -> int:
    """How often the container of the unit's only pod was started again."""
    (pod,) = await pods_of(site, name)
    return int(container_status(pod).get("restartCount", 0))


def version_of(subject: Mapping[str, Any]) -> str:
    """Another one after every write."""
    return str(subject["metadata"]["resourceVersion"])
