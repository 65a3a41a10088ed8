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


async def a_full_unit(product: RunningProduct) -> str:
    return await product.create_ready_unit(template=TEMPLATE, access=ACCESS, labels=LABELS)


async def test_omitted_unit_fields_keep_their_values(product: RunningProduct) -> None:
    place = f"{UNITS}/{await a_full_unit(product)}"
    answer = await product.api.put(place, {"image": "example/app:2"})

    assert answer.status == 200
    assert answer.data["image"] == "example/app:2"
    assert answer.data["template"] == TEMPLATE
    assert answer.data["access"] == ACCESS
    assert answer.data["labels"] == LABELS
    assert (await product.replica.get(place)).data["image"] == "example/app:2"


async def test_a_given_template_replaces_the_stored_template_as_a_whole(
    product: RunningProduct,
) -> None:
    place = f"{UNITS}/{await a_full_unit(product)}"
    template = {
        "envs": [{"name": "C", "value": "3"}],
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }
    answer = await product.api.put(
        place, {"template": template, "access": {"scheme": "tcp"}, "labels": {"tenant": "red"}}
    )

    assert answer.data["template"] == template
    assert answer.data["access"] == {"scheme": "tcp"}
    assert answer.data["labels"] == {"tenant": "red"}


async def test_a_null_field_is_cleared_from_the_unit(product: RunningProduct) -> None:
    place = f"{UNITS}/{await a_full_unit(product)}"
    answer = await product.api.put(place, {"template": None, "access": None, "labels": None})

    assert answer.status == 200
    assert not {"template", "access", "labels"} & set(answer.data)
    settled = (await product.api.get(f"{place}?wait=Ready")).data
    assert not {"serviceName", "accessURL"} & set(settled)


async def test_product_labels_survive_a_change_of_the_user_labels(product: RunningProduct) -> None:
    name = await a_full_unit(product)
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
    answer = await product.api.put(f"{UNITS}/{unit}", body)

    assert answer.status_and_code == (400, "invalid_request")
    assert list(answer.field_errors) == fields
    assert not any(message.startswith("spec.") for message in answer.field_errors.values())
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
    settled = (await product.replica.get(f"{UNITS}/{name}?wait=Ready")).data

    assert (settled["phase"], settled["observedGeneration"]) == ("Ready", 2)
    selector = f"runtime.lokiwager.io/unit={name}"
    await eventually(
        lambda: product.installation.list("pods", labelSelector=selector),
        lambda pods: [pod["spec"]["containers"][0]["image"] for pod in pods] == ["example/app:2"],
    )


async def test_changed_labels_reach_the_pods_with_the_next_rollout_only(
    product: RunningProduct,
) -> None:
    name = await a_full_unit(product)
    await product.api.put(f"{UNITS}/{name}", {"labels": {"tenant": name}})
    kept = (await product.api.get(f"{UNITS}/{name}?wait=Ready")).data
    assert (kept["observedGeneration"], kept["labels"]) == (1, {"tenant": name})

    await product.api.put(f"{UNITS}/{name}", {"image": "example/app:2"})
    await product.api.get(f"{UNITS}/{name}?wait=Ready")
    pods = await product.installation.list("pods", labelSelector=f"tenant={name}")
    assert ["project" in pod["metadata"]["labels"] for pod in pods] == [False]


async def test_a_change_of_the_access_changes_the_address_and_restarts_nothing(
    product: RunningProduct,
) -> None:
    name = await a_full_unit(product)
    selector = f"runtime.lokiwager.io/unit={name}"
    (before,) = await product.installation.list("pods", labelSelector=selector)
    await product.api.put(f"{UNITS}/{name}", {"access": {"scheme": "tcp"}})
    settled = (await product.api.get(f"{UNITS}/{name}?wait=Ready")).data
    (after,) = await product.installation.list("pods", labelSelector=selector)

    assert settled["accessURL"].startswith("tcp://")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_port_that_is_added_gets_an_address(product: RunningProduct) -> None:
    place = f"{UNITS}/{await product.create_ready_unit()}"
    await product.api.put(place, {"template": {"ports": [{"name": "web", "port": 81}]}})
    settled = (await product.api.get(f"{place}?wait=Ready")).data

    assert settled["accessURL"].startswith("http://unit-")
    assert settled["accessURL"].endswith(":81")


async def test_the_tag_of_a_unit_survives_changes_of_its_status(product: RunningProduct) -> None:
    made = (await product.create_unit()).data
    place = f"{UNITS}/{made['name']}"
    early = (await product.api.get(place)).headers["ETag"]
    ready = (await product.api.get(f"{place}?wait=Ready")).headers["ETag"]
    assert early == ready

    changed = await product.api.put(place, {"image": "example/app:2"}, {"If-Match": early})
    assert changed.status == 200
    assert changed.headers["ETag"] != early
    assert (await product.api.get(place)).headers["ETag"] == changed.headers["ETag"]


async def test_a_unit_change_with_a_stale_etag_is_refused(product: RunningProduct) -> None:
    place = f"{UNITS}/{await product.create_ready_unit()}"
    seen = {"If-Match": (await product.api.get(place)).headers["ETag"]}
    await product.replica.put(place, {"image": "example/app:2"})
    answer = await product.api.put(place, {"image": "example/app:3"}, seen)

    assert answer.status_and_code == (412, "precondition_failed")
    assert (await product.api.get(place)).data["image"] == "example/app:2"


async def test_the_activator_deletes_the_unit_that_it_has_seen_and_no_other_of_its_name(
    product: RunningProduct,
) -> None:
    name = await product.create_ready_unit()
    place = f"{UNITS}/{name}"
    seen = (await product.api.get(place)).headers["ETag"]
    assert (await product.api.delete(place)).status == 204
    await eventually(lambda: product.api.get(place), lambda answer: answer.status == 404)
    await product.installation.create(
        "gpuunits", unit_manifest(name, image="example/somebody-elses:1")
    )

    async with aiohttp.ClientSession() as session:
        api = RuntimeAPIClient(session, product.api.url)
        assert not await api.delete(name, seen)
        theirs = await product.installation.admin.get(product.installation.path("gpuunits", name))
        assert "deletionTimestamp" not in theirs["metadata"]
        assert await api.delete(name, (await product.api.get(place)).headers["ETag"])
    await eventually(lambda: product.api.get(place), lambda answer: answer.status == 404)
