"""A schedule environment on the model."""

from contextlib import suppress
from random import Random
from typing import Final

from apiserver.kube.port import KubeClient
from apiserver.kube.resources import GPU_UNITS
from apiserver.specs.catalogue import Catalogue
from apiserver.wiring import ServiceSettings
from tests.model.controller import ModelController
from tests.model.gateway import ModelGateway
from tests.model.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from tests.model.scheduler import DeterministicScheduler
from tests.model.server import ModelServer
from tests.support.faults.faulty_gateway import ProcessKilled

NO_TIME_LIMIT_SECONDS: Final = 1e6
MAX_LAG_WRITES: Final = 6  # the lag of lists from a cache, in writes


class ModelEnvironment:
    """A model server, and a clock that runs when all tasks sleep."""

    def __init__(self, randomness: Random) -> None:
        self._randomness = randomness
        self.clock = DeterministicScheduler(randomness)
        self.service_settings = ServiceSettings(
            STOCK_NAMESPACE,
            INSTANCE_NAMESPACE,
            SYSTEM_NAMESPACE,
            Catalogue(),
            NO_TIME_LIMIT_SECONDS,
        )
        self._server = ModelServer(lambda: randomness.randrange(MAX_LAG_WRITES))

    @property
    def observer(self) -> KubeClient:
        return self.gateway()

    def gateway(self) -> KubeClient:
        return ModelGateway(self._server, self.clock)

    async def run_controller(self, client: KubeClient) -> None:
        """Run the controller until it crashes."""
        with suppress(ProcessKilled):
            await ModelController(client, self.clock, self._randomness).run()

    async def create_ready_stock(self, name: str, spec: str) -> str:
        """Create a ready stock unit, and return its uid."""
        body = {"metadata": {"name": name}, "spec": {"specName": spec, "gpu": 1}}
        created = self._server.create(GPU_UNITS, STOCK_NAMESPACE, body)
        ready = {"status": {"phase": "Ready"}}
        self._server.patch(GPU_UNITS, STOCK_NAMESPACE, name, ready, "status")
        return str(created["metadata"]["uid"])

    def recorded_ready_uids(self) -> frozenset[str]:
        """Return the uids of all stock that was ever ready: on the model it stays ready."""
        documents = (*self._server.objects.values(), *self._server.deleted)
        return frozenset(
            document["metadata"]["uid"]
            for document in documents
            if document["metadata"]["namespace"] == STOCK_NAMESPACE
            and document.get("status", {}).get("phase") == "Ready"
        )
