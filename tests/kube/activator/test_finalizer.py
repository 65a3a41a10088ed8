"""Deletion of a function: what is queued gets its outcome before the object is removed."""

from pathlib import Path

from hack.cluster.control_plane import ControlPlane
from shared.invocation import transition
from shared.invocation.record import InvocationResult
from shared.invocation.state import FailureClass, InvocationState
from shared.v1alpha1.wellknown import ON_DELETE_ANNOTATION, QUEUE_FINALIZER
from tests.support.cluster.in_process_activator import activator_config, run_activator
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    new_isolated_installation,
)
from tests.support.queue.functions_client import (
    QUEUE_NAMES,
    FunctionsClient,
    current_time_ms,
    open_functions,
)
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

NO_API = "http://127.0.0.1:9"
ODD = b"?" * 900_000  # the queue accepts it, but no dead letter can hold all of it


async def create_function(functions: FunctionsClient, **spec: object) -> str:
    """Create a function and wait for its consumer."""
    name = await functions.create("g1.1", **spec)
    await functions.wait_status(name, lambda status: status.get("phase"))
    return name


async def delete(site: IsolatedInstallation, name: str, policy: str = "") -> None:
    """Delete a function as kubectl does, or as the API does with a policy."""
    if policy:
        annotated = {"metadata": {"annotations": {ON_DELETE_ANNOTATION: policy}}}
        await site.admin.patch(site.path("functions", name), annotated)
    await site.admin.delete(site.path("functions", name))


async def test_a_function_is_deleted_once_its_invocations_have_outcomes(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(tmp_path / "queue") as queue,
        run_activator(activator_config(site, queue, NO_API)),
        open_functions(site, queue) as functions,
    ):
        purged = await create_function(functions)
        drained = await create_function(functions)
        waiting = await functions.submit(purged, "waiting")
        running = transition.attempt_started(
            waiting,
            "w",
            await functions.publish_call(purged, "running", waiting),
            current_time_ms(),
        )
        await functions.write_record(purged, "running", running)
        await functions.jetstream.publish(QUEUE_NAMES.call_subject(purged, "odd"), ODD)
        await functions.submit(drained, "waiting")
        assert QUEUE_FINALIZER in (await functions.get(purged))["metadata"]["finalizers"]

        await delete(site, purged)
        await delete(site, drained, "drain")
        for name in ("waiting", "running"):
            record = await functions.wait_record(purged, name, lambda record: record.published)
            assert record.state is InvocationState.CANCELLED
            assert record.result
            assert record.result.failure_class == FailureClass.FUNCTION_DELETED
        await functions.submit(purged, "late", function_uid=waiting.function_uid)
        await functions.wait_record(purged, "late", lambda record: record.published)
        await site.wait_gone("functions", purged)
        assert await functions.queued_counts(purged) == {}
        assert {
            outcome.invocation_id for outcome in await functions.published_outcomes(purged)
        } == {
            "waiting",
            "running",
            "late",
        }
        assert not await has_stream(functions, f"OBJ_{QUEUE_NAMES.body_bucket_name(purged)}")
        info = await functions.jetstream.consumers_info(QUEUE_NAMES.invocations_stream)
        assert [consumer.name for consumer in info] == [drained]

        queued = await functions.read_record(drained, "waiting")
        assert queued.state is InvocationState.QUEUED
        assert await functions.ack_all(drained) == 1
        done = transition.finished(
            queued, InvocationState.SUCCEEDED, InvocationResult(), current_time_ms()
        )
        await functions.write_record(drained, "waiting", transition.published(done))
        await site.wait_gone("functions", drained)
        assert await functions.published_outcomes(drained) == []


async def has_stream(functions: FunctionsClient, name: str) -> bool:
    infos = await functions.jetstream.streams_info()
    return name in {info.config.name for info in infos}


async def test_the_consumer_bucket_and_secret_of_a_function_are_created_and_deleted_with_it(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> None:
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(tmp_path / "queue") as queue,
        run_activator(activator_config(site, queue, NO_API)) as metrics,
        open_functions(site, queue) as functions,
    ):
        name = await create_function(functions)
        assert await has_stream(functions, f"OBJ_{QUEUE_NAMES.body_bucket_name(name)}")
        secret = await site.admin.get(site.path("secrets", f"queue-{name}"))
        assert set(secret["data"]) == {"url", "user", "password", "inboxPrefix"}
        (owner,) = secret["metadata"]["ownerReferences"]
        assert owner["uid"] == await functions.uid(name)
        await functions.jetstream.delete_consumer(QUEUE_NAMES.invocations_stream, name)

        async def has_consumer_again() -> bool:
            infos = await functions.jetstream.consumers_info(QUEUE_NAMES.invocations_stream)
            return name in {info.name for info in infos}

        await eventually(has_consumer_again)
        deleted_streams = (
            f"OBJ_{QUEUE_NAMES.body_bucket_name(name)}",
            QUEUE_NAMES.results_stream,
            QUEUE_NAMES.invocations_stream,
        )
        for stream in deleted_streams:
            await functions.jetstream.delete_stream(stream)
        for stream in deleted_streams:
            await eventually(lambda stream=stream: has_stream(functions, stream))  # type: ignore[misc]
        await eventually(has_consumer_again)
        await functions.submit(name, "one")

        async def depth() -> float | None:
            return metrics.get_sample_value("gpuruntime_function_queue_depth", {"function": name})

        await eventually(depth, lambda value: value == 1)
        idle = await create_function(functions)
        before = await functions.get(idle)
        await functions.wait_status(
            name, lambda status: status.get("phase") in ("Degraded", "Scaling")
        )
        assert await functions.get(idle) == before
        await site.admin.delete(site.path("functions", idle))
        without_finalizers = {"metadata": {"finalizers": None}}
        await site.admin.patch(site.path("functions", idle), without_finalizers)

        async def is_cleaned() -> bool:
            infos = await functions.jetstream.consumers_info(QUEUE_NAMES.invocations_stream)
            has_consumer = idle in {info.name for info in infos}
            bodies = f"OBJ_{QUEUE_NAMES.body_bucket_name(idle)}"
            return not has_consumer and not await has_stream(functions, bodies)

        await eventually(is_cleaned)
