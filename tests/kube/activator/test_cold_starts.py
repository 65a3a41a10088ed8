"""The cold start metric: the first invocation of a function without a worker, at a real queue."""

from pathlib import Path

from prometheus_client import CollectorRegistry

from shared.invocation import transition
from shared.invocation.record import InvocationResult
from shared.invocation.state import InvocationState
from tests.support.cluster.in_process_activator import activator_config, run_activator
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.queue.functions_client import open_functions
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

NO_API = "http://127.0.0.1:1"


async def test_a_cold_start_is_measured_from_the_acceptance_to_the_run(
    installation: IsolatedInstallation, tmp_path: Path
) -> None:
    async with (
        new_nats_server(tmp_path / "queue") as queue,
        run_activator(activator_config(installation, queue, NO_API)) as registry,
        open_functions(installation, queue) as functions,
    ):
        name = await functions.create("any")
        await functions.wait_status(name, lambda status: status.get("phase"))
        first = await functions.submit(name, "first")
        await functions.wait_status(name, lambda status: status.get("queued") == 1)
        await functions.submit(name, "second")  # once this one is counted, the first was processed
        await functions.wait_status(name, lambda status: status.get("queued") == 2)
        started = transition.attempt_started(first, "played-1", 1, first.accepted_at + 4_500)
        finished = transition.finished(
            started, InvocationState.SUCCEEDED, InvocationResult(), started.started_at + 1
        )
        await functions.write_record(name, "first", finished)
        await functions.ack_all(name)
        await eventually(lambda: cold_starts(registry), lambda metric: metric == (1, 4.5))


async def cold_starts(registry: CollectorRegistry) -> tuple[float | None, float | None]:
    """Return the number of cold starts and the sum of their seconds; None if there were none."""
    name = "gpuruntime_function_cold_start_seconds"
    count, seconds = (registry.get_sample_value(f"{name}_{suffix}") for suffix in ("count", "sum"))
    return count, seconds
