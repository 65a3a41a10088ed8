"""Stock: seeded by operators, looked at, and deleted while nobody has claimed it."""

import msgspec

from apiserver.commands import ListUnits, SeedStock
from apiserver.errors import ConflictError, NotFoundError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Page, Selection
from apiserver.kube.resources import GPU_UNITS
from apiserver.operations.idempotency import Requests
from apiserver.operations.result import Accepted, Outcome
from apiserver.operations.store import Records, has_succeeded
from apiserver.specs.catalogue import Catalogue, Given
from apiserver.specs.stock_counts import stock_counts
from apiserver.stock_units.port import StockPage
from apiserver.stock_units.seed import Seeding
from apiserver.units.service import selection
from apiserver.units.stock_selection import is_claimed
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.unit_resources import Envelope


class StockService:
    """The use cases of stock units."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        catalogue: Catalogue,
        records: Records,
        seeding: Seeding,
        requests: Requests,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._catalogue = catalogue
        self._records = records
        self._seeding = seeding
        self._requests = requests

    async def seed(self, command: SeedStock) -> Accepted[Operation]:
        """Record that stock shall be made; making it goes on after the answer."""
        given = Given(memory=command.memory, gpu=command.gpu)
        begun = await self._records.begin_settled(
            command, lambda: self._catalogue.envelope(command.spec_name, given)
        )
        begun = await self._requests.restarted(begun)
        if not has_succeeded(begun.record):
            self._requests.begin(begun.record, self.carry_on)
        return Accepted(begun.record, Outcome.NEW if begun.is_new else Outcome.REPLAY)

    async def carry_on(self, record: Operation) -> Operation:
        """Make what the record asks for, with the envelope that was settled when it was begun."""
        asked = record.spec.request or {}
        envelope = msgspec.convert(asked["settled"], Envelope)
        return await self._seeding.finish(record, asked["replicas"], envelope)

    async def list(self, query: ListUnits) -> StockPage:
        """One page of stock, and counts of all of it."""
        page = await self._objects.list(GPU_UNITS, self._namespace, selection(query))
        is_whole = not page.token and not query.token and not (query.phase or query.spec_name)
        everything = page if is_whole else await self._everything()
        return StockPage(page, stock_counts(everything.items))

    async def delete(self, name: str) -> None:
        """Delete exactly the unclaimed unit that was looked at: a claim in between wins."""
        while True:
            try:
                unit = await self._objects.get(GPU_UNITS, self._namespace, name)
                if is_claimed(unit):
                    raise ConflictError(f"stock unit {name!r} is claimed; it is being handed over")
                meta = unit.metadata
                return await self._objects.delete(
                    GPU_UNITS,
                    self._namespace,
                    name,
                    uid=meta.uid,
                    resource_version=meta.resource_version,
                )
            except kube_errors.AbsentError:
                raise NotFoundError(f"there is no stock unit {name!r}") from None
            except kube_errors.StaleError:
                continue

    async def _everything(self) -> Page[GPUUnit]:
        return await self._objects.list(GPU_UNITS, self._namespace, Selection(cached=True))
