"""Tests of the manager: it runs controllers over shared caches; only the leader writes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime import (
    ControllerBuilder,
    ElectionSettings,
    IncompleteControllerError,
    LeaderElection,
    LeadershipLostError,
    Manager,
    ManagerOptions,
    ObjectKey,
    ObjectMeta,
    Priority,
    ReconcileError,
    Result,
    controller_reference,
)
from controller.runtime.client.client import Client
from tests.support.builders.config_maps import CONFIG_MAPS, ConfigMap
from tests.support.builders.note_resource import NOTES, Note
from tests.support.clocks.virtual_clock import VirtualClock
from tests.unit.controller.runtime.process.in_memory_api import InMemoryApi

NOTE = "/apis/tests.local/v1/namespaces/here/notes/a"
OTHER_NOTE = "/apis/tests.local/v1/namespaces/here/notes/b"
CONFIG_MAP = "/api/v1/namespaces/here/configmaps/a"
KEY = ObjectKey("here", "a")


@dataclass
class RecordingReconciler:
    """Reconciler that records the keys and then runs `action`."""

    action: Callable[[ObjectKey], Awaitable[object]] | None = None
    keys: list[str] = field(default_factory=list)

    async def reconcile(self, key: ObjectKey) -> Result:
        self.keys.append(key.name)
        if self.action is not None:
            await self.action(key)
        return Result()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def api() -> InMemoryApi:
    return InMemoryApi()


@pytest.fixture
def manager(api: InMemoryApi, clock: VirtualClock) -> Manager:
    return new_manager(api, clock)


def new_manager(
    api: InMemoryApi, clock: VirtualClock, election: LeaderElection | None = None
) -> Manager:
    options = ManagerOptions(namespaces=["here"], leader_election=election, probe_address=None)
    client = Client(api, "note-keeper")
    return Manager("note-keeper", client, options, CollectorRegistry(), clock, Random(7))


@asynccontextmanager
async def running(manager: Manager, clock: VirtualClock) -> AsyncIterator[None]:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        await clock.advance(1)
        yield
        stop.set()


async def test_the_objects_of_the_initial_list_and_their_changes_are_reconciled(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    reconciler = RecordingReconciler()
    api.put(NOTE, {"spec": {"size": 1}})
    manager.controller("notes").for_(NOTES).reconcile(reconciler)
    async with running(manager, clock):
        assert reconciler.keys == ["a"]
        api.put(NOTE, {"spec": {"size": 2}})
        api.put(OTHER_NOTE, {"spec": {"size": 1}})
        await clock.advance(1)
        api.remove(NOTE)
        await clock.advance(1)
    assert reconciler.keys == ["a", "a", "b", "a"]


async def test_a_change_of_an_owned_object_reconciles_its_owner(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    reconciler = RecordingReconciler()
    manager.controller("notes").for_(NOTES).owns(CONFIG_MAPS).reconcile(reconciler)
    async with running(manager, clock):
        api.put(CONFIG_MAP, {"metadata": {}})
        await clock.advance(1)
        assert reconciler.keys == []
        owner = Note(metadata=ObjectMeta(namespace="here", name="a", uid="uid-of-a"))
        api.put(CONFIG_MAP, {"metadata": {"ownerReferences": [controller_reference(NOTES, owner)]}})
        await clock.advance(1)
    assert reconciler.keys == ["a"]


async def test_a_mapped_change_reconciles_the_keys_that_its_function_returns(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    def note_keys(config_map: ConfigMap) -> Iterable[ObjectKey]:
        return [ObjectKey("here", name) for name in config_map.data.values()]

    reconciler = RecordingReconciler()
    manager.controller("notes").for_(NOTES).watches(CONFIG_MAPS, note_keys).reconcile(reconciler)
    async with running(manager, clock):
        api.put(CONFIG_MAP, {"metadata": {}, "data": {"note": "b"}})
        await clock.advance(1)
        api.put(CONFIG_MAP, {"metadata": {}, "data": {"note": "c"}})
        await clock.advance(1)
    assert reconciler.keys == ["b", "b", "c"]


async def test_a_trigger_receives_the_old_and_the_new_state(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    def on_delete(old: Any, new: Any) -> Iterable[ObjectKey]:
        return [KEY] if new is None else []

    reconciler = RecordingReconciler()
    builder = manager.controller("notes").for_(NOTES)
    builder.on_change(CONFIG_MAPS, on_delete, Priority.CHILD, "here").reconcile(reconciler)
    async with running(manager, clock):
        api.put(CONFIG_MAP, {"metadata": {}})
        await clock.advance(1)
        assert reconciler.keys == []
        api.remove(CONFIG_MAP)
        await clock.advance(1)
    assert reconciler.keys == ["a"]


async def test_a_key_added_to_the_queue_of_a_controller_is_reconciled(
    manager: Manager, clock: VirtualClock
) -> None:
    reconciler = RecordingReconciler()
    builder = manager.controller("notes").for_(NOTES)
    builder.reconcile(reconciler)
    async with running(manager, clock):
        builder.queue.add(KEY)
        await clock.advance(1)
    assert reconciler.keys == ["a"]


async def test_the_caches_show_a_write_before_the_watch_does(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    cached_values: list[object] = []

    async def write(key: ObjectKey) -> None:
        if not cached_values:
            await manager.writer.patch_status(NOTES, key, {"seen": 1})
            note = manager.cache(NOTES).get(key)
            cached_values.append(note and note.status.seen)

    api.put(NOTE, {"spec": {"size": 1}})
    manager.controller("notes").for_(NOTES).reconcile(RecordingReconciler(write))
    async with running(manager, clock):
        assert cached_values == [1]


async def test_controllers_of_one_process_share_the_cache_of_a_kind(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    first, second = RecordingReconciler(), RecordingReconciler()
    api.put(NOTE, {"spec": {"size": 1}})
    manager.controller("first").for_(NOTES).reconcile(first)
    manager.controller("second").for_(NOTES).reconcile(second)
    async with running(manager, clock):
        assert (first.keys, second.keys) == (["a"], ["a"])
    lists = [request for request in api.requests if request.endswith("/notes")]
    assert lists == ["GET /apis/tests.local/v1/namespaces/here/notes"]


async def test_a_failed_reconcile_is_retried_with_backoff(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    async def fail(key: ObjectKey) -> None:
        raise ReconcileError("not yet")

    reconciler = RecordingReconciler(fail)
    api.put(NOTE, {"spec": {"size": 1}})
    manager.controller("notes").for_(NOTES).reconcile(reconciler)
    async with running(manager, clock):
        after_one_second = len(reconciler.keys)
        await clock.advance(100)
    assert after_one_second == 8  # 5 ms, doubled each time, is 635 ms in total
    assert len(reconciler.keys) == 15


async def test_an_undecodable_object_gets_a_warning_event(
    api: InMemoryApi, manager: Manager, clock: VirtualClock
) -> None:
    reconciler = RecordingReconciler()
    api.put(NOTE, {"spec": {"size": "large"}})
    manager.controller("notes").for_(NOTES).reconcile(reconciler)
    async with running(manager, clock):
        await clock.advance(1)
    (event,) = [subject for path, subject in api.objects.items() if "/events/" in path]
    assert (event["type"], event["reason"]) == ("Warning", "Undecodable")
    assert event["regarding"]["name"] == "a"
    assert event["reportingController"] == "note-keeper"
    assert reconciler.keys == []


async def test_only_the_leader_reconciles_and_writes(api: InMemoryApi, clock: VirtualClock) -> None:
    election = LeaderElection("here", ElectionSettings("note-keeper"))
    managers = [new_manager(api, clock, election) for _ in range(2)]
    reconcilers = [RecordingReconciler(), RecordingReconciler()]
    api.put(NOTE, {"spec": {"size": 1}})
    for manager, reconciler in zip(managers, reconcilers, strict=True):
        manager.controller("notes").for_(NOTES).reconcile(reconciler)
    async with running(managers[1], clock), running(managers[0], clock):
        assert [manager.is_leader() for manager in managers] == [False, True]
        assert [reconciler.keys for reconciler in reconcilers] == [[], ["a"]]
        with pytest.raises(LeadershipLostError):
            await managers[0].writer.patch_status(NOTES, KEY, {"seen": 1})
    assert [manager.is_leader() for manager in managers] == [False, False]


async def test_a_standby_reconciles_after_the_leader_has_stopped(
    api: InMemoryApi, clock: VirtualClock
) -> None:
    election = LeaderElection("here", ElectionSettings("note-keeper"))
    leader, standby = (new_manager(api, clock, election) for _ in range(2))
    reconciler, stop = RecordingReconciler(), asyncio.Event()
    api.put(NOTE, {"spec": {"size": 1}})
    standby.controller("notes").for_(NOTES).reconcile(reconciler)
    async with asyncio.TaskGroup() as group:
        async with running(leader, clock):
            group.create_task(standby.run(stop))
            await clock.advance(30)
            assert reconciler.keys == []
        await clock.advance(5)
        assert reconciler.keys == ["a"]
        stop.set()


async def test_runnables_run_in_every_process_and_leader_runnables_in_the_leader(
    api: InMemoryApi, clock: VirtualClock
) -> None:
    started: list[str] = []

    class RecordingRunnable:
        def __init__(self, name: str) -> None:
            self._name = name

        async def run(self, stop: asyncio.Event | None = None) -> None:
            started.append(self._name)
            await (stop or asyncio.Event()).wait()

        async def synced(self) -> None:
            started.append(f"{self._name} synced")

        def not_ready(self) -> list[str]:
            return []

    election = LeaderElection("here", ElectionSettings("note-keeper"))
    leader, standby = (new_manager(api, clock, election) for _ in range(2))
    for name, manager in (("leader", leader), ("standby", standby)):
        manager.add_required(RecordingRunnable(f"{name} required"))
        manager.add(RecordingRunnable(f"{name} runnable"))
        manager.add_leader_runnable(RecordingRunnable(f"{name} work"))
    async with running(leader, clock), running(standby, clock):
        assert started == [
            "leader required",
            "leader required synced",
            "leader runnable",
            "leader work",
            "standby required",
            "standby required synced",
            "standby runnable",
        ]


async def test_a_manager_is_ready_when_the_server_responds_and_the_caches_have_synced(
    manager: Manager, clock: VirtualClock
) -> None:
    manager.cache(NOTES)
    assert manager.not_ready() == [
        "Kubernetes is not connected: the cluster has not responded yet",
        "informer notes.tests.local has not synced",
    ]
    async with running(manager, clock):
        assert manager.not_ready() == []


async def test_an_incomplete_controller_is_refused_before_anything_starts(
    api: InMemoryApi, manager: Manager
) -> None:
    manager.controller("notes").for_(NOTES)
    with pytest.raises(IncompleteControllerError, match=r"controller notes: reconcile\(\)"):
        await manager.run(asyncio.Event())
    assert api.requests == []


@pytest.mark.parametrize(
    "complete",
    [
        lambda builder: builder.owns(CONFIG_MAPS),
        lambda builder: builder.reconcile(RecordingReconciler()),
    ],
)
def test_a_controller_needs_its_kind_first(
    manager: Manager, complete: Callable[[ControllerBuilder], object]
) -> None:
    with pytest.raises(IncompleteControllerError, match=r"call for_\(\) first"):
        complete(manager.controller("notes"))


def test_a_controller_name_is_used_once(manager: Manager) -> None:
    manager.controller("notes")
    with pytest.raises(ValueError, match="the controller notes exists already"):
        manager.controller("notes")


def test_indexers_are_set_at_the_first_use_of_a_cache(manager: Manager) -> None:
    manager.cache(NOTES)
    with pytest.raises(ValueError, match=r"the cache of notes\.tests\.local exists already"):
        manager.cache(NOTES, indexers={"size": lambda note: [str(note.spec.size)]})


async def test_a_running_manager_refuses_the_cache_of_a_new_kind(
    manager: Manager, clock: VirtualClock
) -> None:
    async with running(manager, clock):
        with pytest.raises(RuntimeError, match="before"):
            manager.cache(NOTES)


def test_without_an_election_the_process_leads(manager: Manager) -> None:
    assert manager.is_leader()
    manager.fence()
