"""A function with real workers on a site, whose invocations end only when the test lets them."""

from collections.abc import Set
from pathlib import Path
from typing import Any

from apiserver.http.paths import INVOCATIONS, invocation_path
from shared.invocation.queue_names import record_key
from shared.invocation.state import InvocationState
from shared.invocation.worker_report import WorkerReport
from tests.support.builders.simulated_units import unit_pods
from tests.support.http.api_client import ApiClient
from tests.support.queue.function_harness import FunctionHarness
from tests.support.queue.functions_client import FunctionsClient
from tests.support.queue.recording_function import CALLS_FILE_VARIABLE, read_executions
from tests.support.wait.eventually import eventually

TIMEOUT_SECONDS = 120.0
# Some more than any pod is given, however short its grace period is.
FINISH_SECONDS = 5.0


class BlockingFunction:
    """What callers and operators do with it, and what they see of its workers."""

    def __init__(self, functions: FunctionsClient, api: ApiClient, name: str, folder: Path) -> None:
        self.harness = FunctionHarness(functions.client, name)
        self._functions = functions
        self._api = api
        self._name = name
        self._release_file = folder / "gate"
        self._calls_file = folder / "notebook"

    async def invoke(self, *names: str) -> None:
        """Send some invocations, one after the other."""
        attributes = {"until": str(self._release_file), "sleepSeconds": FINISH_SECONDS}
        for each in names:
            body = {"serverlessRequestID": self._name, "invocationID": each}
            answer = await self._api.post(INVOCATIONS, {**body, "attributes": attributes})
            assert answer.status == 202, answer.body
            self.harness.accepted.append(record_key(self._name, each))

    async def cancel(self, invocation_id: str) -> None:
        answer = await self._api.delete(invocation_path(self._name, invocation_id))
        assert answer.status == 200, answer.body

    async def patch_spec(self, **spec: Any) -> None:
        """What `kubectl edit` would do to it."""
        await self._functions.patch_spec(self._name, **spec)

    async def evict_worker(self, worker: str, **options: Any) -> None:
        """What `kubectl drain` does to the pod of a worker."""
        site = self._functions.installation
        (pod,) = await unit_pods(site, worker)
        about = {"metadata": {"name": pod["metadata"]["name"]}, "deleteOptions": options}
        path = f"{site.path('pods', pod['metadata']['name'])}/eviction"
        await site.admin.create(path, {"apiVersion": "policy/v1", "kind": "Eviction", **about})

    async def wait_running_worker(self, invocation_id: str, attempt: int = 1) -> str:
        """The worker on which the code of an attempt has begun."""
        call = (invocation_id, attempt)
        await eventually(
            self.recorded_calls, lambda noted: call in noted, timeout_seconds=TIMEOUT_SECONDS
        )
        record, _ = await self.harness.read_record(invocation_id)
        assert (record.state, record.attempts) == (InvocationState.RUNNING, attempt)
        return record.worker

    async def wait_removed(self, workers: Set[str]) -> str:
        """The first of these workers whose unit is gone."""

        async def look() -> Set[str]:
            units = await self._functions.worker_units(self._name)
            return workers - {unit["metadata"]["name"] for unit in units}

        (gone,) = await eventually(look, timeout_seconds=TIMEOUT_SECONDS)
        return gone

    async def wait_draining(self, worker: str) -> None:
        """Wait until a worker takes nothing more, while its pod ends and its invocation runs."""
        await eventually(
            lambda: self.harness.worker_report(worker),
            is_draining_with_one_running,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        (pod,) = await unit_pods(self._functions.installation, worker)
        assert "deletionTimestamp" in pod["metadata"]

    def release(self) -> None:
        """Whatever runs, or will, may end."""
        self._release_file.touch()

    async def wait_outcomes(self) -> dict[str, tuple[InvocationState, int]]:
        """The outcomes with their attempts, once all is over and the promise has been kept."""
        await eventually(self.harness.is_queue_empty, timeout_seconds=TIMEOUT_SECONDS)
        self.harness.executions = read_executions(self._calls_file)
        seen = await self.harness.wait_finished(timeout_seconds=TIMEOUT_SECONDS)
        return {each.invocation_id: (each.state, each.attempts) for each in seen.outcomes}

    async def recorded_calls(self) -> list[tuple[str, int]]:
        """Every call of the code, by invocation and attempt."""
        executions = read_executions(self._calls_file) if self._calls_file.exists() else []
        return sorted((call.invocation_id, call.attempt) for call in executions)


async def new_blocking_function(
    functions: FunctionsClient, api: ApiClient, spec_name: str, folder: Path, **spec: Any
) -> BlockingFunction:
    """A new function, every record of which is kept in all its versions."""
    template = {
        "command": ["python", "-m", "tests.support.queue.recording_function"],
        "envs": [{"name": CALLS_FILE_VARIABLE, "value": str(folder / "notebook")}],
    }
    asked = {"image": "local/noting", "template": template, "timeoutSeconds": 280, **spec}
    name = await functions.create(spec_name, **asked)
    made = BlockingFunction(functions, api, name, folder)
    await made.harness.keep_record_history()
    return made


def is_draining_with_one_running(report: WorkerReport | None) -> bool:
    """Whether a worker says that it takes nothing more, and still runs something."""
    return report is not None and report.draining and report.running == 1
