"""An informer on a real API server: its cache and its handlers follow every change."""

import asyncio
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.cache.subscription import ChangeNotification
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.undecodable import undecodable_event_handler
from controller.runtime.key import ObjectKey
from hack.cluster.admin_client import AdminClient
from tests.support.builders.config_maps import (
    CONFIG_MAPS,
    ConfigMap,
    config_map_manifest,
    new_informer,
)
from tests.support.builders.note_resource import NOTES, Note, note_manifest
from tests.support.checks.informer_checks import NoticeReplica, run_background, wait_equal
from tests.support.wait.eventually import eventually

MODES = pytest.mark.parametrize(
    "scope",
    [{}, {"page_size": 2}, {"use_watch_list": True}],
    ids=["whole list", "pages", "streaming list"],
)


@MODES
async def test_the_store_follows_creates_changes_and_deletes(
    client: Client, admin: AdminClient, namespace: str, scope: dict[str, Any]
) -> None:
    for number in range(5):
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, f"before-{number}"))
    informer, replica = new_informer(client, namespace, **scope), NoticeReplica()
    informer.subscribe(replica)
    async with run_background(informer):
        await wait_equal(informer, replica, admin, namespace)
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "new"))
        await client.patch(CONFIG_MAPS, ObjectKey(namespace, "before-0"), {"data": {"x": "1"}})
        await client.delete(CONFIG_MAPS, ObjectKey(namespace, "before-1"))
        await eventually(lambda: asyncio.sleep(0, replica.objects), lambda seen: "new" in seen)
        await wait_equal(informer, replica, admin, namespace)
    assert "before-1" not in replica.objects


async def test_only_the_initial_list_is_marked_as_backlog(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map_manifest(namespace, "old"))
    informer, replica = new_informer(client, namespace), NoticeReplica()
    subscription = informer.subscribe(replica)
    async with run_background(informer):
        await subscription.synced()
        assert all(notice.is_backlog for notice in replica.notices)
        await client.create(CONFIG_MAPS, config_map_manifest(namespace, "new"))
        await eventually(lambda: asyncio.sleep(0, replica.objects), lambda seen: "new" in seen)
    assert not replica.notices[-1].is_backlog


async def test_a_late_handler_first_gets_all_existing_objects(
    client: Client, admin: AdminClient, namespace: str
) -> None:
    await client.create(CONFIG_MAPS, config_map_manifest(namespace, "a"))
    informer = new_informer(client, namespace)
    async with run_background(informer):
        replica = NoticeReplica()
        await informer.subscribe(replica).synced()
        await wait_equal(informer, replica, admin, namespace)


async def test_a_handler_that_raises_or_hangs_does_not_block_other_handlers(
    client: Client, admin: AdminClient, namespace: str
) -> None:
    informer, replica = new_informer(client, namespace), NoticeReplica()

    def broken(_: ChangeNotification[ConfigMap]) -> None:
        raise RuntimeError("broken handler")

    async def stuck(_: ChangeNotification[ConfigMap]) -> None:
        await asyncio.Event().wait()

    informer.subscribe(broken)
    informer.subscribe(stuck)
    informer.subscribe(replica)
    async with run_background(informer):
        for number in range(10):
            await client.create(CONFIG_MAPS, config_map_manifest(namespace, f"n{number}"))
        await wait_equal(informer, replica, admin, namespace)


async def test_an_index_returns_objects_by_their_labels(client: Client, namespace: str) -> None:
    body = config_map_manifest(namespace, "a")
    body["metadata"]["labels"] = {"team": "blue"}
    await client.create(CONFIG_MAPS, body)
    informer = new_informer(client, namespace)
    async with run_background(informer):
        assert [item.metadata.name for item in informer.store.by_index("team", "blue")] == ["a"]
        relabelled = {"metadata": {"labels": {"team": "red"}}}
        await client.patch(CONFIG_MAPS, ObjectKey(namespace, "a"), relabelled)
        await eventually(
            lambda: asyncio.sleep(0, informer.store.index_values("team")),
            lambda values: "red" in values and "blue" not in values,
        )


async def test_own_writes_are_visible_at_once_and_delivered_once(
    client: Client, admin: AdminClient, namespace: str
) -> None:
    informer, replica = new_informer(client, namespace), NoticeReplica()
    informer.subscribe(replica)
    writer, key = Writer(client, [informer]), ObjectKey(namespace, "mine")
    async with run_background(informer):
        for turn in range(50):
            written = await writer.apply(
                CONFIG_MAPS, config_map_manifest(namespace, "mine", n=str(turn))
            )
            assert informer.store.get(key) == written
            await writer.delete(CONFIG_MAPS, key)
            assert key not in informer.store
        await writer.create(CONFIG_MAPS, config_map_manifest(namespace, "last"))
        await wait_equal(informer, replica, admin, namespace)
    changes = [notice for notice in replica.notices if (notice.new or notice.old)]
    names = [n.new.metadata.name for n in changes if n.new is not None and n.old is None]
    assert names.count("mine") == 50


@MODES
async def test_an_undecodable_object_is_skipped_and_reported_and_others_are_followed(
    notes_admin: AdminClient, client: Client, namespace: str, scope: dict[str, Any]
) -> None:
    path = f"/apis/tests.local/v1/namespaces/{namespace}/notes"
    await notes_admin.create(path, note_manifest(namespace, "good", 1))
    await notes_admin.create(path, note_manifest(namespace, "bad", "not a number"))
    registry = CollectorRegistry()
    informer = Informer(
        client,
        WatchScope(NOTES, namespace, **scope),
        InformerMetrics(registry),
        SystemClock(),
        Random(7),
    )
    recorder = EventRecorder(client, SystemClock(), Random(7), "library-tests", "one")
    informer.set_undecodable_handler(undecodable_event_handler(recorder, NOTES, "InvalidSpec"))
    async with run_background(recorder), run_background(informer):
        assert {key.name for key in informer.store} == {"good"}
        await notes_admin.patch(f"{path}/good", {"spec": {"size": "broken now"}})
        await notes_admin.create(path, note_manifest(namespace, "later", 2))
        await eventually(lambda: names_in(informer), lambda names: names == {"good", "later"})
        assert informer.store.get(ObjectKey(namespace, "good")) is not None
        await notes_admin.patch(f"{path}/bad", {"spec": {"size": 3}})
        await notes_admin.delete(f"{path}/good")
        await eventually(lambda: names_in(informer), lambda names: names == {"bad", "later"})
        messages = await eventually(
            lambda: event_messages(notes_admin, namespace), lambda messages: len(messages) == 2
        )
    assert messages.keys() == {"good", "bad"}
    assert "Expected `int`, got `str`" in messages["bad"]
    reported = registry.get_sample_value("informer_unreadable_total", {"resource": str(NOTES)})
    assert reported == 2


async def event_messages(admin: AdminClient, namespace: str) -> dict[str, str]:
    """Return the last message of the Event about each object."""
    events = (await admin.get(f"/api/v1/namespaces/{namespace}/events"))["items"]
    return {event["involvedObject"]["name"]: event["message"] for event in events}


async def names_in(informer: Informer[Note]) -> set[str]:
    return {key.name for key in informer.store}
