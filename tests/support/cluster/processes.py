"""New API processes inside the test's own."""

import itertools
from random import Random

from prometheus_client import CollectorRegistry

from apiserver.clock import Clock
from apiserver.kube.port import Cluster
from apiserver.wiring import Surroundings, UseCases


class Processes:
    """Makes the use cases of one process after the other."""

    def __init__(self, where: Surroundings, clock: Clock, randomness: Random) -> None:
        self._where = where
        self._clock = clock
        self._randomness = randomness
        self._ids = itertools.count()

    def new(self, client: Cluster) -> UseCases:
        return UseCases(
            client,
            self._where,
            CollectorRegistry(),
            self._clock,
            self._randomness,
            lambda: f"id-{next(self._ids)}",
        )
