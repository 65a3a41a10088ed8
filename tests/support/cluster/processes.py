"""New API processes inside the test's own."""

import itertools
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.kube.port import KubeClient
from apiserver.wiring import KubeServices, ServiceSettings


class KubeServicesFactory:
    """Makes the use cases of one process after the other."""

    def __init__(self, service_settings: ServiceSettings, clock: Clock, randomness: Random) -> None:
        self._service_settings = service_settings
        self._clock = clock
        self._randomness = randomness
        self._ids = itertools.count()

    def new(self, client: KubeClient) -> KubeServices:
        return KubeServices(
            client,
            self._service_settings,
            CollectorRegistry(),
            self._clock,
            self._randomness,
            lambda: f"id-{next(self._ids)}",
        )
