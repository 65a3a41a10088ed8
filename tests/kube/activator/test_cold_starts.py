"""The first invocation of a function without a worker is measured at a real queue."""

from pathlib import Path

from prometheus_client import CollectorRegistry

from shared.invocation import transition
from shared.invocation.record import Result
from shared.invocation.state import State
from tests.support.cluster.in_process_activator import activated, configuration
from tests.support.cluster.isolated_installation import Site
from tests.support.queue.functions_client import functions_of
from tests.support.queue.nats_server import new_queue
from tests.support.wait.eventually import eventually

NOWHERE = "http://127.0.0.1:1"


async def test_a_cold_start_is_measured_from_the_acceptance_to_the_run(
    site: Site, tmp_path: Path
) -> None:
    async with (
        new_queue(tmp_path / "queue") as queue,
        activated(configuration(site, queue, NOWHERE)) as registry,
        functions_of(site, queue) as functions,
    ):
        name = await functions.create("any")
        await functions.says(name, lambda status: status.get("phase"))
        first = await functions.submit(name, "first")
        await functions.says(name, lambda status: status.get("queued") == 1)
        await functions.submit(name, "second")  # when it is seen, the first was looked at
        await functions.says(name, lambda status: status.get("queued") == 2)
        begun = transition.begun(first, "played-1", 1, first.accepted_at + 4_500)
        over = transition.finished(begun, State.SUCCEEDED, Result(), begun.started_at + 1)
        await functions.write(name, "first", over)
        await functions.work_off(name)
        await eventually(lambda: measured(registry), lambda found: found == (1, 4.5))


async def measured(registry: CollectorRegistry) -> tuple[float | None, float | None]:
    """How many cold starts there were, and their seconds together."""
    name = "gpuruntime_function_cold_start_seconds"
    count, seconds = (registry.get_sample_value(f"{name}_{each}") for each in ("count", "sum"))
    return count, seconds
