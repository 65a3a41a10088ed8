"""A function with real workers whose invocations wait until the test releases them."""

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
# More than the minimum grace period of a pod.
FINISH_SECONDS = 5.0


class BlockingFunction:
    """The actions of callers and operators on one function, and the state of its workers."""

    def __init__(self, functions: FunctionsClient, api: ApiClient, name: str, folder: Path) -> None:
        self.harness = FunctionHarness(functions.client, name)
        self._functions = functions
        self._api = api
        self._name = name
        self._release_file = folder / "release"
        self._calls_file = folder / "calls"

    async def invoke(self, *names: str) -> None:
        """Send invocations with these ids, one after the other."""
        attributes = {"until": str(self._release_file), "sleepSeconds": FINISH_SECONDS}
        for invocation_id in names:
            body = {"serverlessRequestID": self._name, "invocationID": invocation_id}
            response = await self._api.post(INVOCATIONS, {**body, "attributes": attributes})
            assert response.status == 202, response.body
            self.harness.accepted.append(record_key(self._name, invocation_id))

    async def cancel(self, invocation_id: str) -> None:
        response = await self._api.delete(invocation_path(self._name, invocation_id))
        assert response.status == 200, response.body

    async def patch_spec(self, **spec: Any) -> None:
        """Change the spec, as `kubectl edit` does."""
        await self._functions.patch_spec(self._name, **spec)

    async def evict_worker(self, worker: str, **options: Any) -> None:
        """Evict the pod of a worker, as `kubectl drain` does."""
        installation = self._functions.installation
        (pod,) = await unit_pods(installation, worker)
        eviction = {"metadata": {"name": pod["metadata"]["name"]}, "deleteOptions": options}
        path = f"{installation.path('pods', pod['metadata']['name'])}/eviction"
        await installation.admin.create(
            path, {"apiVersion": "policy/v1", "kind": "Eviction", **eviction}
        )

    async def wait_running_worker(self, invocation_id: str, attempt: int = 1) -> str:
        """Return the worker on which the code of an attempt has begun."""
        call = (invocation_id, attempt)
        await eventually(
            self.recorded_calls, lambda calls: call in calls, timeout_seconds=TIMEOUT_SECONDS
        )
        record, _ = await self.harness.read_record(invocation_id)
        assert (record.state, record.attempts) == (InvocationState.RUNNING, attempt)
        return record.worker

    async def wait_removed(self, workers: Set[str]) -> str:
        """Return the first of these workers whose unit was deleted."""

        async def removed() -> Set[str]:
            units = await self._functions.worker_units(self._name)
            return workers - {unit["metadata"]["name"] for unit in units}

        (worker,) = await eventually(removed, timeout_seconds=TIMEOUT_SECONDS)
        return worker

    async def wait_draining(self, worker: str) -> None:
        """Wait until a worker drains: its pod is deleted, and its one invocation still runs."""
        await eventually(
            lambda: self.harness.worker_report(worker),
            is_draining_with_one_running,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        (pod,) = await unit_pods(self._functions.installation, worker)
        assert "deletionTimestamp" in pod["metadata"]

    def release(self) -> None:
        """Let all invocations end, also later ones."""
        self._release_file.touch()

    async def wait_outcomes(self) -> dict[str, tuple[InvocationState, int]]:
        """Return states and attempts once all invocations are finished; check every guarantee."""
        await eventually(self.harness.is_queue_empty, timeout_seconds=TIMEOUT_SECONDS)
        self.harness.executions = read_executions(self._calls_file)
        snapshot = await self.harness.wait_finished(timeout_seconds=TIMEOUT_SECONDS)
        return {
            outcome.invocation_id: (outcome.state, outcome.attempts)
            for outcome in snapshot.outcomes
        }

    async def recorded_calls(self) -> list[tuple[str, int]]:
        """Return every call of the code, by invocation and attempt."""
        executions = read_executions(self._calls_file) if self._calls_file.exists() else []
        return sorted((call.invocation_id, call.attempt) for call in executions)


async def new_blocking_function(
    functions: FunctionsClient, api: ApiClient, spec_name: str, folder: Path, **spec: Any
) -> BlockingFunction:
    """Create a function, and keep all versions of its records."""
    template = {
        "command": ["python", "-m", "tests.support.queue.recording_function"],
        "envs": [{"name": CALLS_FILE_VARIABLE, "value": str(folder / "calls")}],
    }
    fields = {"image": "local/recorder", "template": template, "timeoutSeconds": 280, **spec}
    name = await functions.create(spec_name, **fields)
    function = BlockingFunction(functions, api, name, folder)
    await function.harness.keep_record_history()
    return function


def is_draining_with_one_running(report: WorkerReport | None) -> bool:
    """Return whether a worker reports that it drains and runs one invocation."""
    return report is not None and report.draining and report.running == 1
