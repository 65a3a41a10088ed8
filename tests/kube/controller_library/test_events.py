"""Events of the recorder as kubectl shows them."""

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


class MetadataOnly(msgspec.Struct, frozen=True, kw_only=True):
    """An object of any kind, with its metadata only."""

    metadata: ObjectMeta


CONFIG_MAPS = Kind("", "v1", "configmaps", "ConfigMap", MetadataOnly)
NODES = Kind("", "v1", "nodes", "Node", MetadataOnly, namespaced=False)


@pytest.fixture
async def subject(client: Client, namespace: str) -> ObjectReference:
    """Create an object that events can refer to."""
    metadata = {"namespace": namespace, "name": "it"}
    return object_reference(CONFIG_MAPS, await client.create(CONFIG_MAPS, {"metadata": metadata}))


@asynccontextmanager
async def recording(client: Client) -> AsyncIterator[EventRecorder]:
    """Run a recorder; all its events are written when the block has ended."""
    rng = Random()
    recorder = EventRecorder(client, SystemClock(), rng, "example.com/tests", "tests-0")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        await asyncio.sleep(0)  # a task that is cancelled before its first step never runs
        yield recorder
        task.cancel()


async def described(admin: AdminClient, subject: ObjectReference) -> list[dict[str, Any]]:
    """Return the events that `kubectl describe` shows: it uses the old API and these fields."""
    selector = f"involvedObject.name={subject.name},involvedObject.uid={subject.uid}"
    path = f"/api/v1/namespaces/{subject.namespace or 'default'}/events"
    items: list[dict[str, Any]] = (await admin.get(path, fieldSelector=selector))["items"]
    return items


async def test_an_event_is_shown_for_its_object(
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
    values = [event[field] for field in ("type", "reason", "action", "message")]
    assert values == ["Warning", "Failed", "Prepare", "no space left"]
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


async def test_repeats_increase_the_count_of_one_event(
    client: Client, admin: AdminClient, subject: ObjectReference
) -> None:
    async def counts() -> list[int]:
        events = await described(admin, subject)
        return [event.get("series", {"count": 1})["count"] for event in events]

    async with recording(client) as recorder:
        recorder.warning(subject, "Failed", "no space left")
        await eventually(counts, lambda seen: seen == [1])
        recorder.warning(subject, "Failed", "no space left")
        await eventually(counts, lambda seen: seen == [2])
        recorder.warning(subject, "Failed", "no space left")
    assert await counts() == [3]


async def test_a_repeat_recreates_a_deleted_event(
    client: Client, admin: AdminClient, subject: ObjectReference
) -> None:
    async with recording(client) as recorder:
        recorder.normal(subject, "Ready", "it works")
        (first,) = await eventually(lambda: described(admin, subject))
        await admin.delete(
            f"/api/v1/namespaces/{subject.namespace}/events/{first['metadata']['name']}"
        )
        recorder.normal(subject, "Ready", "it works")
        (second,) = await eventually(lambda: described(admin, subject))
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["series"]["count"] == 2


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


async def test_an_event_of_a_terminating_namespace_is_dropped_without_a_log_line(
    client: Client, admin: AdminClient, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    terminating = f"{namespace}-terminating"
    await admin.create("/api/v1/namespaces", {"metadata": {"name": terminating}})
    metadata = {"namespace": terminating, "name": "finalized", "finalizers": ["example.com/tests"]}
    subject = object_reference(
        CONFIG_MAPS, await client.create(CONFIG_MAPS, {"metadata": metadata})
    )
    await admin.delete(f"/api/v1/namespaces/{terminating}")
    async with recording(client) as recorder:
        recorder.normal(subject, "Deleted", "deleted with its namespace")
        await eventually(lambda: asyncio.sleep(0, recorder.dropped))
    assert recorder.dropped == {"refused": 1}
    assert [record.message for record in caplog.records if "runtime" in record.name] == []
    key = ObjectKey(terminating, "finalized")
    await client.patch(CONFIG_MAPS, key, {"metadata": {"finalizers": None}})
