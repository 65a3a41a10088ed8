"""An informer on a real API server: its store and its handlers follow every change."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Scope
from controller.runtime.cache.subscription import Notice
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.undecodable import by_event
from controller.runtime.key import ObjectKey
from hack.cluster.admin_client import Admin
from hack.cluster.control_plane import ControlPlane
from tests.support.builders.config_maps import (
    CONFIG_MAPS,
    ConfigMap,
    a_config_map,
    client_of,
    informer_of,
)
from tests.support.builders.note_resource import NOTES, Note, a_note
from tests.support.checks.informer_checks import Replica, equal, running
from tests.support.wait.eventually import eventually

MODES = pytest.mark.parametrize(
    "scope", [{}, {"page": 2}, {"streaming": True}], ids=["whole list", "pages", "streaming list"]
)


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with client_of(control_plane.layout.admin_kubeconfig) as made:
        yield made


@MODES
async def test_the_store_follows_creates_changes_and_deletes(
    client: Client, admin: Admin, namespace: str, scope: dict[str, Any]
) -> None:
    for number in range(5):
        await client.create(CONFIG_MAPS, a_config_map(namespace, f"before-{number}"))
    informer, replica = informer_of(client, namespace, **scope), Replica()
    informer.subscribe(replica)
    async with running(informer):
        await equal(informer, replica, admin, namespace)
        await client.create(CONFIG_MAPS, a_config_map(namespace, "new"))
        await client.patch(CONFIG_MAPS, ObjectKey(namespace, "before-0"), {"data": {"x": "1"}})
        await client.delete(CONFIG_MAPS, ObjectKey(namespace, "before-1"))
        await eventually(lambda: asyncio.sleep(0, replica.objects), lambda seen: "new" in seen)
        await equal(informer, replica, admin, namespace)
    assert "before-1" not in replica.objects


async def test_the_initial_list_is_a_backlog_and_what_comes_after_is_news(
    client: Client, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, a_config_map(namespace, "old"))
    informer, replica = informer_of(client, namespace), Replica()
    subscription = informer.subscribe(replica)
    async with running(informer):
        await subscription.synced()
        assert all(notice.backlog for notice in replica.notices)
        await client.create(CONFIG_MAPS, a_config_map(namespace, "new"))
        await eventually(lambda: asyncio.sleep(0, replica.objects), lambda seen: "new" in seen)
    assert not replica.notices[-1].backlog


async def test_a_late_handler_first_hears_of_everything_there_is(
    client: Client, admin: Admin, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, a_config_map(namespace, "a"))
    informer = informer_of(client, namespace)
    async with running(informer):
        replica = Replica()
        await informer.subscribe(replica).synced()
        await equal(informer, replica, admin, namespace)


async def test_a_handler_that_raises_or_hangs_does_not_hold_up_the_others(
    client: Client, admin: Admin, namespace: str
) -> None:
    informer, replica = informer_of(client, namespace), Replica()

    def broken(_: Notice[ConfigMap]) -> None:
        raise RuntimeError("broken handler")

    async def stuck(_: Notice[ConfigMap]) -> None:
        await asyncio.Event().wait()

    informer.subscribe(broken)
    informer.subscribe(stuck)
    informer.subscribe(replica)
    async with running(informer):
        for number in range(10):
            await client.create(CONFIG_MAPS, a_config_map(namespace, f"n{number}"))
        await equal(informer, replica, admin, namespace)


async def test_an_index_finds_objects_by_what_they_say(client: Client, namespace: str) -> None:
    body = a_config_map(namespace, "a")
    body["metadata"]["labels"] = {"team": "blue"}
    await client.create(CONFIG_MAPS, body)
    informer = informer_of(client, namespace)
    async with running(informer):
        assert [found.metadata.name for found in informer.store.by_index("team", "blue")] == ["a"]
        relabelled = {"metadata": {"labels": {"team": "red"}}}
        await client.patch(CONFIG_MAPS, ObjectKey(namespace, "a"), relabelled)
        await eventually(
            lambda: asyncio.sleep(0, informer.store.index_values("team")),
            lambda values: "red" in values and "blue" not in values,
        )


async def test_a_reader_sees_its_own_writes_at_once_and_each_once(
    client: Client, admin: Admin, namespace: str
) -> None:
    informer, replica = informer_of(client, namespace), Replica()
    informer.subscribe(replica)
    writer, key = Writer(client, [informer]), ObjectKey(namespace, "mine")
    async with running(informer):
        for turn in range(50):
            written = await writer.apply(CONFIG_MAPS, a_config_map(namespace, "mine", n=str(turn)))
            assert informer.store.get(key) == written
            await writer.delete(CONFIG_MAPS, key)
            assert key not in informer.store
        await writer.create(CONFIG_MAPS, a_config_map(namespace, "last"))
        await equal(informer, replica, admin, namespace)
    changes = [notice for notice in replica.notices if (notice.new or notice.old)]
    names = [n.new.metadata.name for n in changes if n.new is not None and n.old is None]
    assert names.count("mine") == 50


@MODES
async def test_an_object_that_cannot_be_read_is_skipped_and_the_rest_goes_on(
    notes: Admin, client: Client, namespace: str, scope: dict[str, Any]
) -> None:
    path = f"/apis/tests.local/v1/namespaces/{namespace}/notes"
    await notes.create(path, a_note(namespace, "good", 1))
    await notes.create(path, a_note(namespace, "bad", "not a number"))
    registry = CollectorRegistry()
    informer = Informer(
        client,
        Scope(NOTES, namespace, **scope),
        InformerMetrics(registry),
        SystemClock(),
        Random(7),
    )
    recorder = EventRecorder(client, SystemClock(), Random(7), "library-tests", "one")
    informer.report_unreadable(by_event(recorder, NOTES, "InvalidSpec"))
    async with running(recorder), running(informer):
        assert {key.name for key in informer.store} == {"good"}
        await notes.patch(f"{path}/good", {"spec": {"size": "broken now"}})
        await notes.create(path, a_note(namespace, "later", 2))
        await eventually(lambda: names_in(informer), lambda names: names == {"good", "later"})
        assert informer.store.get(ObjectKey(namespace, "good")) is not None
        await notes.patch(f"{path}/bad", {"spec": {"size": 3}})
        await notes.delete(f"{path}/good")
        await eventually(lambda: names_in(informer), lambda names: names == {"bad", "later"})
        told = await eventually(lambda: told_of(notes, namespace), lambda told: len(told) == 2)
    assert told.keys() == {"good", "bad"}
    assert "Expected `int`, got `str`" in told["bad"]
    reported = registry.get_sample_value("informer_unreadable_total", {"resource": str(NOTES)})
    assert reported == 2


async def told_of(admin: Admin, namespace: str) -> dict[str, str]:
    """What was said of each object."""
    events = (await admin.get(f"/api/v1/namespaces/{namespace}/events"))["items"]
    return {event["involvedObject"]["name"]: event["message"] for event in events}


async def names_in(informer: Informer[Note]) -> set[str]:
    return {key.name for key in informer.store}
