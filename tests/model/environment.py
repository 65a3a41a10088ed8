"""The model as a place where schedules run."""

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
MAX_LAG_WRITES: Final = 6  # writes by which a list that may be old is so


class ModelEnvironment:
    """A server, and a clock that runs when nobody has anything else to do."""

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
        """Until the process dies."""
        with suppress(ProcessKilled):
            await ModelController(client, self.clock, self._randomness).run()

    async def create_ready_stock(self, name: str, spec: str) -> str:
        """Ready stock; its uid."""
        body = {"metadata": {"name": name}, "spec": {"specName": spec, "gpu": 1}}
        made = self._server.create(GPU_UNITS, STOCK_NAMESPACE, body)
        ready = {"status": {"phase": "Ready"}}
        self._server.patch(GPU_UNITS, STOCK_NAMESPACE, name, ready, "status")
        return str(made["metadata"]["uid"])

    def recorded_ready_uids(self) -> frozenset[str]:
        """On the model nothing stops being ready before it is deleted."""
        everything = (*self._server.objects.values(), *self._server.deleted)
        return frozenset(
            each["metadata"]["uid"]
            for each in everything
            if each["metadata"]["namespace"] == STOCK_NAMESPACE
            and each.get("status", {}).get("phase") == "Ready"
        )
