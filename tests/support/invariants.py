"""What must hold once everything has come to rest, whatever happened before.

One checker for the model and for the real server: over all objects that are left, and over all
answers that callers got.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controller.gpuunit import claim
from shared import wellknown
from shared.phases import OperationPhase
from shared.storage_lock import lock_of
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation


@dataclass(frozen=True)
class Answer:
    """What a caller was told: `uid` of the unit, or the code of an error."""

    operation_id: str
    is_new: bool
    uid: str = ""
    code: str = ""


@dataclass(frozen=True)
class Rest:
    """The cluster at rest; `seeded` is the stock that ever was ready, by uid.

    `removed` are units that their users have deleted: their stock was consumed, or came back.
    """

    seeded: frozenset[str]
    removed: Sequence[GPUUnit]
    stock: Sequence[GPUUnit]
    units: Sequence[GPUUnit]
    records: Sequence[Operation]
    answers: Sequence[Answer]
    storages: Sequence[GPUStorage] = ()


def check(rest: Rest) -> None:
    """Raise AssertionError with the first invariant that does not hold."""
    stock_is_neither_lost_nor_used_twice(rest)
    nothing_stays_claimed(rest)
    records_tell_what_is(rest)
    answers_agree(rest)
    storages_are_held_by_those_that_mount_them(rest)


def stock_is_neither_lost_nor_used_twice(rest: Rest) -> None:
    sources = Counter(source_uid(unit) for unit in rest.units)
    assert all(count == 1 for count in sources.values()), f"stock was used twice: {sources}"
    left = {unit.metadata.uid for unit in rest.stock}
    consumed, used = rest.seeded - left, set(sources)
    given_up = {source_uid(unit) for unit in rest.removed}
    assert not (left & used), "stock is still there although a unit was made from it"
    assert used <= consumed <= used | given_up, f"consumed {consumed}, but units are from {used}"


def nothing_stays_claimed(rest: Rest) -> None:
    claimed = [unit.metadata.name for unit in rest.stock if claim.is_claimed(unit)]
    assert not claimed, f"claimed for ever: {claimed}"


def records_tell_what_is(rest: Rest) -> None:
    units = {unit.metadata.uid: unit for unit in rest.units}
    removed = {unit.metadata.uid for unit in rest.removed}
    for record in rest.records:
        phase = record.status.phase
        assert phase in (OperationPhase.SUCCEEDED, OperationPhase.FAILED), f"unfinished: {record}"
        if phase != OperationPhase.SUCCEEDED:
            continue
        made = [found.uid for found in record.status.objects]
        assert len(made) == 1, f"not one object: {record}"
        if made[0] in removed:
            continue
        unit = units.pop(made[0], None)
        assert unit is not None, f"the unit of {record.spec.operation_id} is not there"
        assert record.spec.stock is not None
        assert source_uid(unit) == record.spec.stock.uid, "made from other stock than recorded"
    assert not units, f"units without a record: {list(units)}"


def answers_agree(rest: Rest) -> None:
    uids: dict[str, set[str]] = {}
    news = Counter(answer.operation_id for answer in rest.answers if answer.is_new)
    for answer in rest.answers:
        if answer.uid:
            uids.setdefault(answer.operation_id, set()).add(answer.uid)
    assert all(count == 1 for count in news.values()), f"answered as new more than once: {news}"
    assert all(len(each) == 1 for each in uids.values()), f"different units were told of: {uids}"
    recorded = {
        record.spec.operation_id: record.status.objects[0].uid
        for record in rest.records
        if record.status.phase == OperationPhase.SUCCEEDED
    }
    told = {operation: next(iter(each)) for operation, each in uids.items()}
    wrong = {name: uid for name, uid in told.items() if recorded.get(name) != uid}
    assert not wrong, f"told of units that the records do not hold: {wrong}"


def storages_are_held_by_those_that_mount_them(rest: Rest) -> None:
    users: dict[str, list[str]] = {storage.metadata.name: [] for storage in rest.storages}
    for unit in rest.units:
        for mount in unit.spec.storage_mounts:
            users[mount.name].append(unit.metadata.name)
    locks = {each.metadata.name: lock_of(each.metadata.annotations) for each in rest.storages}
    holders = {name: [lock.unit] if lock else [] for name, lock in locks.items()}
    assert users == holders, f"mounted by {users}, but held by {holders}"


def source_uid(unit: GPUUnit) -> str:
    return unit.metadata.annotations.get(wellknown.SOURCE_STOCK_UID, "")
