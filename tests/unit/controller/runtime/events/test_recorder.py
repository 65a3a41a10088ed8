"""Tests of the event recorder: its writes, their times, and its behaviour without a server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest

from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.errors import (
    AlreadyExistsError,
    ForbiddenError,
    InvalidError,
    KubeError,
    NotFoundError,
    ServerError,
    UndecodableError,
    UnreachableError,
)
from controller.runtime.events.event import (
    EVENTS,
    SUBDOMAIN_PATTERN,
    Event,
    event_name,
    object_reference,
)
from controller.runtime.events.recorder import (
    FLUSH_SECONDS,
    MAX_ATTEMPTS,
    MAX_PENDING_EVENTS,
    EventRecorder,
)
from controller.runtime.events.series import ObjectReference
from controller.runtime.key import ObjectKey
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks

MINUTE = 60.0
HOUR = 60 * MINUTE
THING = ObjectReference("things.example/v1", "Thing", "here", "it", "uid-1", "7")
MAX_RETRY_SECONDS = 12.5


class RecordingClient:
    """Client that records its calls; `fault` is called before each, and may raise or wait."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.names: set[str] = set()
        self.fault: Callable[[], KubeError | None] = lambda: None
        self.open = asyncio.Event()
        self.open.set()

    async def create(self, kind: Kind[Event], body: Mapping[str, Any]) -> Event:
        await self._call(kind, "create", body)
        name = body["metadata"]["name"]
        if name in self.names:
            raise AlreadyExistsError("the event exists", status=409)
        self.names.add(name)
        return Event(metadata=ObjectMeta(name=name))

    async def patch(self, kind: Kind[Event], key: ObjectKey, body: Mapping[str, Any]) -> Event:
        await self._call(kind, "patch", body)
        if key.name not in self.names:
            raise NotFoundError("the event does not exist", status=404)
        return Event(metadata=ObjectMeta(name=key.name))

    async def _call(self, kind: Kind[Event], verb: str, body: Mapping[str, Any]) -> None:
        assert kind is EVENTS
        self.calls.append((verb, body))
        await self.open.wait()
        if error := self.fault():
            raise error

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.calls]

    @property
    def bodies(self) -> list[Mapping[str, Any]]:
        return [body for _, body in self.calls]

    @property
    def counts(self) -> list[int]:
        return [body.get("series", {"count": 1})["count"] for body in self.bodies]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def client() -> RecordingClient:
    return RecordingClient()


@pytest.fixture
def recorder(client: RecordingClient, clock: VirtualClock) -> EventRecorder:
    return new_recorder(client, clock, "things-controller-0")


def new_recorder(client: RecordingClient, clock: VirtualClock, instance: str) -> EventRecorder:
    rng = Random(1)
    return EventRecorder(client, clock, rng, "things-controller", instance)


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    """Run the recorder during the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(recorder.run())
        await run_ready_tasks()
        yield
        await run_ready_tasks()
        task.cancel()


def unreachable() -> KubeError:
    return UnreachableError("no response")


class TestEventObject:
    async def test_an_event_has_reason_object_and_reporter(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            recorder.warning(THING, "Failed", "no space left", action="Prepare")
        name = client.bodies[0]["metadata"]["name"]
        assert name.startswith("it.")
        assert client.calls == [
            (
                "create",
                {
                    "metadata": {"namespace": "here", "name": name},
                    "eventTime": "2026-11-16T00:00:00.000000Z",
                    "type": "Warning",
                    "reason": "Failed",
                    "action": "Prepare",
                    "note": "no space left",
                    "regarding": {
                        "apiVersion": "things.example/v1",
                        "kind": "Thing",
                        "namespace": "here",
                        "name": "it",
                        "uid": "uid-1",
                        "resourceVersion": "7",
                    },
                    "reportingController": "things-controller",
                    "reportingInstance": "things-controller-0",
                },
            )
        ]

    async def test_an_event_may_name_a_second_object(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            recorder.normal(THING, "Claimed", "taken", related=replace(THING, name="other"))
        assert client.bodies[0]["type"] == "Normal"
        assert client.bodies[0]["related"]["name"] == "other"

    async def test_events_of_objects_without_a_namespace_go_to_default(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            recorder.normal(replace(THING, namespace=""), "Ready", "it works")
        assert client.bodies[0]["metadata"]["namespace"] == "default"
        assert "namespace" not in client.bodies[0]["regarding"]

    async def test_long_texts_are_truncated_between_characters(
        self, client: RecordingClient, clock: VirtualClock
    ) -> None:
        recorder = new_recorder(client, clock, "i" * 200)
        async with running(recorder):
            recorder.normal(THING, "R" * 200, "x" + 600 * "é", action="A" * 200)
        body = client.bodies[0]
        assert body["note"] == "x" + 511 * "é"
        for field in ("reason", "action", "reportingInstance"):
            assert len(body[field]) == 128

    async def test_characters_that_cannot_be_encoded_are_replaced(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            recorder.normal(THING, "Failed", "file \udc80 is missing")
        assert client.bodies[0]["note"] == "file ? is missing"

    @pytest.mark.parametrize("subject", ["it", "a.b-c", "x" * 253, "x" * 235 + "-y", "system:it"])
    def test_the_name_of_an_event_is_valid_for_every_object_name(self, subject: str) -> None:
        name = event_name(subject, "0123456789abcdef")
        assert SUBDOMAIN_PATTERN.fullmatch(name)
        assert len(name) <= 253

    def test_an_object_reference_has_the_kind_and_the_metadata_of_the_object(self) -> None:
        class Thing(msgspec.Struct, frozen=True):
            metadata: ObjectMeta

        things = Kind("things.example", "v1", "things", "Thing", Thing)
        metadata = ObjectMeta(namespace="here", name="it", uid="uid-1", resource_version="7")
        reference = object_reference(things, Thing(metadata))
        assert (reference, reference.resource_version) == (THING, "7")


class TestSeries:
    async def test_repeats_are_counted_on_one_event_and_the_final_count_is_written_once(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            for _ in range(5):
                recorder.warning(THING, "Failed", "no space left")
                await clock.advance(MINUTE)
            assert (client.verbs, client.counts) == (["create", "patch"], [1, 2])
            await clock.advance(5 * MINUTE)
            assert client.calls[2:] == [
                (
                    "patch",
                    {"series": {"count": 5, "lastObservedTime": "2026-11-16T00:04:00.000000Z"}},
                )
            ]
            await clock.advance(48 * HOUR)
        assert len(client.calls) == 3
        assert len(client.names) == 1
        assert recorder.dropped.total() == 0

    async def test_an_event_that_never_repeats_is_written_once(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await clock.advance(48 * HOUR)
        assert client.verbs == ["create"]

    async def test_a_series_of_two_events_is_not_written_at_its_end(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await run_ready_tasks()
            recorder.normal(THING, "Ready", "it works")
            await clock.advance(48 * HOUR)
        assert client.counts == [1, 2]

    async def test_a_repeat_after_six_minutes_of_silence_is_a_new_event(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await clock.advance(6 * MINUTE)
            recorder.normal(THING, "Ready", "it works")
        assert client.verbs == ["create", "create"]
        assert len(client.names) == 2

    async def test_a_continuing_series_is_written_every_half_hour(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            for _ in range(122):
                recorder.warning(THING, "Failed", "no space left")
                await clock.advance(MINUTE)
            assert client.counts == [1, 2, 32, 62, 92, 122]

    async def test_repeats_before_the_first_write_are_counted_in_it(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        for _ in range(3):
            recorder.warning(THING, "Failed", "no space left")
        async with running(recorder):
            pass
        assert (client.verbs, client.counts) == (["create"], [3])

    async def test_a_repeat_during_the_first_write_is_written(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        client.open.clear()
        async with running(recorder):
            recorder.warning(THING, "Failed", "no space left")
            await run_ready_tasks()
            recorder.warning(THING, "Failed", "no space left")
            client.open.set()
        assert client.counts == [1, 2]

    async def test_a_newer_version_of_the_object_continues_the_series(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            recorder.warning(THING, "Failed", "no space left")
            await run_ready_tasks()
            recorder.warning(replace(THING, resource_version="8"), "Failed", "no space left")
        assert client.verbs == ["create", "patch"]

    async def test_an_event_with_another_note_is_written_separately(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            recorder.warning(THING, "Failed", "no space left")
            recorder.warning(THING, "Failed", "no memory left")
        assert [body["note"] for body in client.bodies] == ["no space left", "no memory left"]

    async def test_an_expired_event_of_a_series_is_created_again(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            recorder.warning(THING, "Failed", "no space left")
            await run_ready_tasks()
            client.names.clear()
            recorder.warning(THING, "Failed", "no space left")
        assert (client.verbs, client.counts) == (["create", "patch", "create"], [1, 2, 2])
        assert client.bodies[2]["metadata"] == client.bodies[0]["metadata"]


class TestLimits:
    async def test_an_object_with_too_many_events_is_rate_limited_alone(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            for number in range(30):
                recorder.warning(THING, "Failed", f"{number} are missing")
            await run_ready_tasks()
            assert (len(client.calls), recorder.dropped["too_many"]) == (25, 5)
            recorder.warning(replace(THING, name="other"), "Failed", "1 is missing")
            await run_ready_tasks()
            assert len(client.calls) == 26
            await clock.advance(5 * MINUTE)
            for number in range(2):
                recorder.warning(THING, "Failed", f"again {number} are missing")
        assert (len(client.calls), recorder.dropped["too_many"]) == (27, 6)

    async def test_repeats_do_not_count_for_the_rate_limit(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        async with running(recorder):
            for _ in range(100):
                recorder.warning(THING, "Failed", "no space left")
            recorder.warning(THING, "Failed", "no memory left")
        assert recorder.dropped.total() == 0
        assert client.bodies[-1]["note"] == "no memory left"

    async def test_repeats_of_an_event_are_one_entry_in_the_queue(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        for _ in range(MAX_PENDING_EVENTS):
            recorder.warning(THING, "Failed", "no space left")
        recorder.warning(THING, "Failed", "no memory left")
        async with running(recorder):
            pass
        assert (client.counts, recorder.dropped.total()) == ([MAX_PENDING_EVENTS, 1], 0)

    async def test_events_beyond_the_queue_size_are_dropped_and_logged_once(
        self,
        recorder: EventRecorder,
        client: RecordingClient,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        for number in range(MAX_PENDING_EVENTS + 10):
            recorder.normal(replace(THING, uid=str(number)), "Ready", "it works")
        recorder.normal(replace(THING, uid="0"), "Ready", "it works")
        assert recorder.dropped == {"queue_full": 10}
        assert [record.message for record in caplog.records] == ["events_overflow"]
        async with running(recorder):
            while len(client.calls) < MAX_PENDING_EVENTS:
                await run_ready_tasks()
        assert client.counts[0] == 2


class TestFailures:
    @pytest.mark.parametrize(
        "error",
        [
            InvalidError("bad", status=422),
            ForbiddenError("no", status=403),
            ServerError("broken", status=500),
            UndecodableError("not an event"),
        ],
        ids=lambda error: type(error).__name__,
    )
    async def test_an_error_response_is_not_retried(
        self,
        recorder: EventRecorder,
        client: RecordingClient,
        clock: VirtualClock,
        caplog: pytest.LogCaptureFixture,
        error: KubeError,
    ) -> None:
        client.fault = lambda: error
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await clock.advance(HOUR)
        assert (client.verbs, recorder.dropped) == (["create"], {"refused": 1})
        assert [record.levelname for record in caplog.records] == ["WARNING"]

    async def test_the_events_of_a_terminating_namespace_are_dropped_quietly(
        self, recorder: EventRecorder, client: RecordingClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO)
        client.fault = lambda: ForbiddenError("no", status=403, causes="NamespaceTerminating")
        async with running(recorder):
            recorder.normal(THING, "Deleted", "it is gone")
        assert (caplog.records, recorder.dropped) == ([], {"refused": 1})

    async def test_an_event_is_retried_while_the_server_is_unreachable(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        client.fault = unreachable
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await clock.advance(9)
            assert len(client.calls) == 1
            await clock.advance(MAX_RETRY_SECONDS - 9)
            assert len(client.calls) == 2
            client.fault = lambda: None
            await clock.advance(HOUR)
        assert len(client.calls) == 3
        assert recorder.dropped.total() == 0

    async def test_an_event_is_dropped_after_twelve_attempts(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        client.fault = unreachable
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await clock.advance(MAX_ATTEMPTS * MAX_RETRY_SECONDS)
            assert (len(client.calls), recorder.dropped) == (MAX_ATTEMPTS, {"unreachable": 1})
            client.fault = lambda: None
            recorder.normal(THING, "Prepared", "it could")
        assert len(client.calls) == MAX_ATTEMPTS + 1

    async def test_a_repeat_of_a_dropped_event_is_written(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        client.fault = unreachable
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await clock.advance(MAX_ATTEMPTS * MAX_RETRY_SECONDS)
            client.fault = lambda: None
            recorder.normal(THING, "Ready", "it works")
        assert (client.verbs[-2:], client.counts[-1]) == (["patch", "create"], 2)

    async def test_an_event_whose_create_response_was_lost_is_not_created_twice(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        client.fault = unreachable
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            await run_ready_tasks()
            client.names.add(client.bodies[0]["metadata"]["name"])
            recorder.normal(THING, "Ready", "it works")
            client.fault = lambda: None
            await clock.advance(MAX_RETRY_SECONDS)
        assert client.verbs == ["create", "create", "patch"]
        assert (client.counts[-1], recorder.dropped.total()) == (2, 0)


class TestStopping:
    async def test_pending_events_are_written_when_the_recorder_is_cancelled(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            for _ in range(3):
                recorder.warning(THING, "Failed", "no space left")
                await clock.advance(1)
            client.fault = unreachable
            recorder.normal(THING, "Ready", "it works")
            await run_ready_tasks()
            client.fault = lambda: None
        assert client.verbs == ["create", "patch", "create", "patch", "create"]
        assert client.counts[-2:] == [3, 1]

    async def test_the_flush_ends_at_its_time_limit_without_a_response(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        client.open.clear()
        recorder.normal(THING, "Ready", "it works")
        recorder.normal(THING, "Prepared", "it could")
        async with asyncio.TaskGroup() as group:
            task = group.create_task(recorder.run())
            await run_ready_tasks()
            task.cancel()
            await clock.advance(FLUSH_SECONDS - 1)
            assert not task.done()
            await clock.advance(1)
            assert task.cancelled()
        assert recorder.dropped == {"stopped": 2}

    async def test_the_flush_ends_at_the_first_unreachable_error(
        self, recorder: EventRecorder, client: RecordingClient
    ) -> None:
        client.fault = unreachable
        async with running(recorder):
            recorder.normal(THING, "Ready", "it works")
            recorder.normal(THING, "Prepared", "it could")
        assert (len(client.calls), recorder.dropped) == (2, {"stopped": 2})

    async def test_an_idle_recorder_writes_nothing_at_the_stop(
        self, recorder: EventRecorder, client: RecordingClient, clock: VirtualClock
    ) -> None:
        async with running(recorder):
            await clock.advance(HOUR)
        assert client.calls == []
