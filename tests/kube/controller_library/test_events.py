"""Events from the recorder, as a person sees them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from controller.runtime.client.client import Client
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.clock import SystemClock
from controller.runtime.events.event import object_reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import ObjectReference
from controller.runtime.key import ObjectKey
from hack.cluster.admin_client import AdminClient
from tests.support.wait.eventually import eventually


class Plain(msgspec.Struct, frozen=True, kw_only=True):
    """An object of any kind, of which only the metadata matters."""

    metadata: ObjectMeta


CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap", Plain)
NODES = Kind("", "v1", "nodes", "Node", Plain, namespaced=False)


@pytest.fixture
async def subject(client: Client, namespace: str) -> ObjectReference:
    """Create an object that events can refer to."""
    metadata = {"namespace": namespace, "name": "it"}
    return object_reference(CONFIG_MAPS, await client.create(CONFIG_MAPS, {"metadata": metadata}))


@asynccontextmanager
async def recording(client: Client) -> AsyncIterator[EventRecorder]:
    """Run a recorder; all its events are written when the block has ended."""
    chance = Random()
    recorder = EventRecorder(client, SystemClock(), chance, "example.com/tests", "tests-0")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        await asyncio.sleep(0)  # a task that is cancelled before its first step never runs
        yield recorder
        task.cancel()


async def described(admin: AdminClient, subject: ObjectReference) -> list[dict[str, Any]]:
    """Return the events that `kubectl describe` shows: it asks the old API, by these fields."""
    selector = f"involvedObject.name={subject.name},involvedObject.uid={subject.uid}"
    path = f"/api/v1/namespaces/{subject.namespace or 'default'}/events"
    items: list[dict[str, Any]] = (await admin.get(path, fieldSelector=selector))["items"]
    return items


async def test_an_event_is_found_under_the_object_it_is_about(
    client: Client, admin: AdminClient, subject: ObjectReference
) -> None:
    async with recording(client) as recorder:
        recorder.warning(subject, "Failed", "no space left", action="Prepare")
        (event,) = await eventually(lambda: described(admin, subject))
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": subject.namespace,
        "name": "it",
        "uid": subject.uid,
        "resourceVersion": subject.resource_version,
    }
    told = [event[field] for field in ("type", "reason", "action", "message")]
    assert told == ["Warning", "Failed", "Prepare", "no space left"]
    assert event["reportingComponent"] == "example.com/tests"
    assert event["reportingInstance"] == "tests-0"


async def test_an_event_is_found_by_the_name_of_its_object_in_the_new_api(
    client: Client, admin: AdminClient, subject: ObjectReference
) -> None:
    async with recording(client) as recorder:
        recorder.normal(subject, "Ready", "it works")
        await eventually(lambda: described(admin, subject))
    path = f"/apis/events.k8s.io/v1/namespaces/{subject.namespace}/events"
    (event,) = (await admin.get(path, fieldSelector="regarding.name=it"))["items"]
    assert event["regarding"]["uid"] == subject.uid


async def test_repeats_count_up_on_one_object(
    client: Client, admin: AdminClient, subject: ObjectReference
) -> None:
    async def counts() -> list[int]:
        found = await described(admin, subject)
        return [event.get("series", {"count": 1})["count"] for event in found]

    async with recording(client) as recorder:
        recorder.warning(subject, "Failed", "no space left")
        await eventually(counts, lambda seen: seen == [1])
        recorder.warning(subject, "Failed", "no space left")
        await eventually(counts, lambda seen: seen == [2])
        recorder.warning(subject, "Failed", "no space left")
    assert await counts() == [3]


async def test_an_event_that_was_deleted_comes_back_when_it_repeats(
    client: Client, admin: AdminClient, subject: ObjectReference
) -> None:
    async with recording(client) as recorder:
        recorder.normal(subject, "Ready", "it works")
        (first,) = await eventually(lambda: described(admin, subject))
        await admin.delete(
            f"/api/v1/namespaces/{subject.namespace}/events/{first['metadata']['name']}"
        )
        recorder.normal(subject, "Ready", "it works")
        (again,) = await eventually(lambda: described(admin, subject))
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert again["series"]["count"] == 2


async def test_texts_of_any_length_and_names_of_any_kind_are_accepted(
    client: Client, admin: AdminClient, namespace: str
) -> None:
    subject = ObjectReference(
        "rbac.authorization.k8s.io/v1", "Role", namespace, "system:It", "uid-1"
    )
    async with recording(client) as recorder:
        recorder.normal(subject, "R" * 200, 600 * "é", action="A" * 200)
        (event,) = await eventually(lambda: described(admin, subject))
    assert event["message"] == 512 * "é"


async def test_an_event_about_a_node_is_in_the_default_namespace(
    client: Client, admin: AdminClient
) -> None:
    node = (await client.list(NODES)).items[0]
    async with recording(client) as recorder:
        recorder.normal(object_reference(NODES, node), "Inspected", "by a test")
        await eventually(
            lambda: described(admin, object_reference(NODES, node)),
            lambda found: "Inspected" in {event["reason"] for event in found},
        )


async def test_an_event_of_a_terminating_namespace_is_dropped_quietly(
    client: Client, admin: AdminClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    going = f"{namespace}-going"
    await admin.create("/api/v1/namespaces", {"metadata": {"name": going}})
    held = {"namespace": going, "name": "held", "finalizers": ["example.com/tests"]}
    subject = object_reference(CONFIG_MAPS, await client.create(CONFIG_MAPS, {"metadata": held}))
    await admin.delete(f"/api/v1/namespaces/{going}")
    async with recording(client) as recorder:
        recorder.normal(subject, "Deleted", "it goes with its namespace")
        await eventually(lambda: asyncio.sleep(0, recorder.dropped))
    assert recorder.dropped == {"refused": 1}
    assert [record.message for record in caplog.records if "runtime" in record.name] == []
    await client.patch(CONFIG_MAPS, ObjectKey(going, "held"), {"metadata": {"finalizers": None}})
