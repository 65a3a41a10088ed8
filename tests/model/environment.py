"""The model as a place where schedules run."""

from contextlib import suppress
from random import Random
from typing import Final

from apiserver.kube.port import Cluster
from apiserver.kube.resources import GPU_UNITS
from apiserver.specs.catalogue import Catalogue
from apiserver.wiring import Surroundings
from tests.model.controller import ModelController
from tests.model.gateway import ModelClient
from tests.model.namespaces import INSTANCE, STOCK, SYSTEM
from tests.model.scheduler import Turnstile
from tests.model.server import ModelServer
from tests.support.faults.faulty_gateway import Killed

FOR_EVER: Final = 1e6
MOST_LAG: Final = 6  # writes by which a list that may be old is so


class ModelWorld:
    """A server, and a clock that runs when nobody has anything else to do."""

    def __init__(self, randomness: Random) -> None:
        self._randomness = randomness
        self.clock = Turnstile(randomness)
        self.where = Surroundings(STOCK, INSTANCE, SYSTEM, Catalogue(), FOR_EVER)
        self._server = ModelServer(lambda: randomness.randrange(MOST_LAG))

    @property
    def observer(self) -> Cluster:
        return self.cluster()

    def cluster(self) -> Cluster:
        return ModelClient(self._server, self.clock)

    async def control(self, client: Cluster) -> None:
        """Until the process dies."""
        with suppress(Killed):
            await ModelController(client, self.clock, self._randomness).run()

    async def put(self, name: str, spec: str) -> str:
        """Ready stock; its uid."""
        body = {"metadata": {"name": name}, "spec": {"specName": spec, "gpu": 1}}
        made = self._server.create(GPU_UNITS, STOCK, body)
        ready = {"status": {"phase": "Ready"}}
        self._server.patch(GPU_UNITS, STOCK, name, ready, "status")
        return str(made["metadata"]["uid"])

    def ever_ready(self) -> frozenset[str]:
        """On the model nothing stops being ready before it is deleted."""
        everything = (*self._server.objects.values(), *self._server.deleted)
        return frozenset(
            each["metadata"]["uid"]
            for each in everything
            if each["metadata"]["namespace"] == STOCK
            and each.get("status", {}).get("phase") == "Ready"
        )
