"""Changes of a unit over HTTP: an absent field stays, an object is replaced, null clears one."""

from typing import Any

import aiohttp
import pytest

from apiserver.http.paths import UNITS
from serverless.activator.workers.runtime_api import RuntimeAPIClient
from tests.support.cluster.isolated_installation import unit_manifest
from tests.support.cluster.running_product import RunningProduct
from tests.support.wait.eventually import eventually

TEMPLATE = {
    "command": ["serve"],
    "args": ["--fast"],
    "envs": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
}
ACCESS = {"primaryPort": "http", "scheme": "https"}
LABELS = {"tenant": "blue", "project": "one"}


async def create_full_unit(product: RunningProduct) -> str:
    return await product.create_ready_unit(template=TEMPLATE, access=ACCESS, labels=LABELS)


async def test_omitted_unit_fields_keep_their_values(product: RunningProduct) -> None:
    path = f"{UNITS}/{await create_full_unit(product)}"
    response = await product.api.put(path, {"image": "example/app:2"})

    assert response.status == 200
    assert response.data["image"] == "example/app:2"
    assert response.data["template"] == TEMPLATE
    assert response.data["access"] == ACCESS
    assert response.data["labels"] == LABELS
    assert (await product.replica.get(path)).data["image"] == "example/app:2"


async def test_a_new_template_replaces_the_whole_stored_template(
    product: RunningProduct,
) -> None:
    path = f"{UNITS}/{await create_full_unit(product)}"
    template = {
        "envs": [{"name": "C", "value": "3"}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }
    response = await product.api.put(
        path, {"template": template, "access": {"scheme": "tcp"}, "labels": {"tenant": "red"}}
    )

    assert response.data["template"] == template
    assert response.data["access"] == {"scheme": "tcp"}
    assert response.data["labels"] == {"tenant": "red"}


async def test_a_null_field_is_cleared_from_the_unit(product: RunningProduct) -> None:
    path = f"{UNITS}/{await create_full_unit(product)}"
    response = await product.api.put(path, {"template": None, "access": None, "labels": None})

    assert response.status == 200
    assert not {"template", "access", "labels"} & set(response.data)
    unit = (await product.api.get(f"{path}?wait=Ready")).data
    assert not {"serviceName", "accessURL"} & set(unit)


async def test_reserved_labels_stay_when_the_user_labels_change(product: RunningProduct) -> None:
    name = await create_full_unit(product)
    before = (await product.installation.get_unit(name))["metadata"]["labels"]
    await product.api.put(f"{UNITS}/{name}", {"labels": None})
    after = (await product.installation.get_unit(name))["metadata"]["labels"]

    assert set(before) - set(after) == set(LABELS)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"specName": "other"}, ["specName"]),
        ({"memory": "2Gi"}, ["memory"]),
        ({"name": "other"}, ["name"]),
        ({"image": None}, ["image"]),
        ({"image": ""}, ["image"]),
        ({"image": 7}, ["image"]),
        ({"template": []}, ["template"]),
        ({"template": {"ports": [{"name": "UPPER", "port": 1}]}}, ["template.ports[0].name"]),
        ({"access": {"primaryPort": "absent"}}, ["access.primaryPort"]),
        ({"template": None}, ["access"]),
        ({"labels": {"tenant": 1}}, ["labels['tenant']"]),
        ({"labels": {"app.kubernetes.io/name": "x"}}, ["labels['app.kubernetes.io/name']"]),
        ({"storageMounts": [{"name": "a", "mountPath": "b"}]}, ["storageMounts[0].mountPath"]),
    ],
    ids=str,
)
async def test_an_invalid_unit_change_is_refused_by_field(
    product: RunningProduct, unit: str, body: dict[str, Any], fields: list[str]
) -> None:
    before = await product.installation.get_unit(unit)
    response = await product.api.put(f"{UNITS}/{unit}", body)

    assert response.status_and_code == (400, "invalid_request")
    assert list(response.field_errors) == fields
    assert not any(message.startswith("spec.") for message in response.field_errors.values())
    assert (await product.installation.get_unit(unit))["spec"] == before["spec"]


@pytest.fixture
async def unit(product: RunningProduct) -> str:
    """Create one unit for all tests of refused changes."""
    listed = (await product.api.get(f"{UNITS}?label=role%3Drefuser")).data
    if listed:
        return str(listed[0]["name"])
    labels = {**LABELS, "role": "refuser"}
    return await product.create_ready_unit(template=TEMPLATE, access=ACCESS, labels=labels)


async def test_a_change_of_the_image_is_rolled_out(product: RunningProduct) -> None:
    name = await product.create_ready_unit()
    await product.api.put(f"{UNITS}/{name}", {"image": "example/app:2"})
    unit = (await product.replica.get(f"{UNITS}/{name}?wait=Ready")).data

    assert (unit["phase"], unit["observedGeneration"]) == ("Ready", 2)
    selector = f"runtime.lokiwager.io/unit={name}"
    await eventually(
        lambda: product.installation.list("pods", labelSelector=selector),
        lambda pods: [pod["spec"]["containers"][0]["image"] for pod in pods] == ["example/app:2"],
    )


async def test_changed_labels_reach_the_pods_with_the_next_rollout_only(
    product: RunningProduct,
) -> None:
    name = await create_full_unit(product)
    await product.api.put(f"{UNITS}/{name}", {"labels": {"tenant": name}})
    unit = (await product.api.get(f"{UNITS}/{name}?wait=Ready")).data
    assert (unit["observedGeneration"], unit["labels"]) == (1, {"tenant": name})

    await product.api.put(f"{UNITS}/{name}", {"image": "example/app:2"})
    await product.api.get(f"{UNITS}/{name}?wait=Ready")
    pods = await product.installation.list("pods", labelSelector=f"tenant={name}")
    assert ["project" in pod["metadata"]["labels"] for pod in pods] == [False]


async def test_a_change_of_the_access_changes_the_address_without_a_restart(
    product: RunningProduct,
) -> None:
    name = await create_full_unit(product)
    selector = f"runtime.lokiwager.io/unit={name}"
    (before,) = await product.installation.list("pods", labelSelector=selector)
    await product.api.put(f"{UNITS}/{name}", {"access": {"scheme": "tcp"}})
    unit = (await product.api.get(f"{UNITS}/{name}?wait=Ready")).data
    (after,) = await product.installation.list("pods", labelSelector=selector)

    assert unit["accessURL"].startswith("tcp://")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_unit_with_a_new_port_gets_an_address(product: RunningProduct) -> None:
    path = f"{UNITS}/{await product.create_ready_unit()}"
    await product.api.put(path, {"template": {"ports": [{"name": "web", "port": 81}]}})
    unit = (await product.api.get(f"{path}?wait=Ready")).data

    assert unit["accessURL"].startswith("http://unit-")
    assert unit["accessURL"].endswith(":81")


async def test_the_etag_of_a_unit_stays_when_its_status_changes(product: RunningProduct) -> None:
    created = (await product.create_unit()).data
    path = f"{UNITS}/{created['name']}"
    etag_before = (await product.api.get(path)).headers["ETag"]
    etag_after = (await product.api.get(f"{path}?wait=Ready")).headers["ETag"]
    assert etag_before == etag_after

    changed = await product.api.put(path, {"image": "example/app:2"}, {"If-Match": etag_before})
    assert changed.status == 200
    assert changed.headers["ETag"] != etag_before
    assert (await product.api.get(path)).headers["ETag"] == changed.headers["ETag"]


async def test_a_unit_change_with_a_stale_etag_is_refused(product: RunningProduct) -> None:
    path = f"{UNITS}/{await product.create_ready_unit()}"
    if_match = {"If-Match": (await product.api.get(path)).headers["ETag"]}
    await product.replica.put(path, {"image": "example/app:2"})
    response = await product.api.put(path, {"image": "example/app:3"}, if_match)

    assert response.status_and_code == (412, "precondition_failed")
    assert (await product.api.get(path)).data["image"] == "example/app:2"


async def test_the_activator_does_not_delete_a_recreated_unit_of_the_same_name(
    product: RunningProduct,
) -> None:
    name = await product.create_ready_unit()
    path = f"{UNITS}/{name}"
    etag = (await product.api.get(path)).headers["ETag"]
    assert (await product.api.delete(path)).status == 204
    await eventually(lambda: product.api.get(path), lambda response: response.status == 404)
    await product.installation.create("gpuunits", unit_manifest(name, image="example/other:1"))

    async with aiohttp.ClientSession() as session:
        api = RuntimeAPIClient(session, product.api.url)
        assert not await api.delete(name, etag)
        other_unit = await product.installation.admin.get(
            product.installation.path("gpuunits", name)
        )
        assert "deletionTimestamp" not in other_unit["metadata"]
        assert await api.delete(name, (await product.api.get(path)).headers["ETag"])
    await eventually(lambda: product.api.get(path), lambda response: response.status == 404)
