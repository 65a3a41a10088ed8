"""What must hold once everything has come to rest, whatever happened before.

One checker for the model and for the real server: over all objects that are left, and over all
answers that callers got.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.commands import CreateUnit, SeedStock
from apiserver.operations.request_hash import request_hash
from controller.gpuunit.handoff import claim_validity
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.storage_lock import lock_of


@dataclass(frozen=True)
class Answer:
    """What a caller was told: the unit's uid, an error's code, or only that there is a record.

    `asked` is what it had sent, where that is known.
    """

    operation_id: str
    is_new: bool
    uid: str = ""
    code: str = ""
    record: str = ""
    asked: CreateUnit | SeedStock | None = None


@dataclass(frozen=True)
class Rest:
    """The cluster at rest; `seeded` is the stock that ever was ready, by uid.

    `by_hand` of it was made by no operation, and `discarded` were deleted by operators.
    `removed` are units that their users have deleted: their stock was consumed, or came back.
    """

    seeded: frozenset[str]
    by_hand: frozenset[str]
    discarded: frozenset[str]
    removed: Sequence[GPUUnit]
    stock: Sequence[GPUUnit]
    units: Sequence[GPUUnit]
    records: Sequence[Operation]
    answers: Sequence[Answer]
    storages: Sequence[GPUStorage] = ()

    def of(self, kind: OperationType) -> list[Operation]:
        """The records of one type."""
        return [record for record in self.records if record.spec.type == kind]


def check(rest: Rest) -> None:
    """Raise AssertionError with the first invariant that does not hold."""
    stock_is_neither_lost_nor_used_twice(rest)
    nothing_stays_claimed(rest)
    everything_has_ended(rest)
    records_tell_what_is(rest)
    seeds_list_what_they_made(rest)
    answers_agree(rest)
    everybody_got_what_they_asked_for(rest)
    what_was_accepted_is_recorded(rest)
    storages_are_held_by_those_that_mount_them(rest)


def stock_is_neither_lost_nor_used_twice(rest: Rest) -> None:
    sources = Counter(source_uid(unit) for unit in rest.units)
    assert all(count == 1 for count in sources.values()), f"stock was used twice: {sources}"
    left = {unit.metadata.uid for unit in rest.stock}
    consumed, used = rest.seeded - left, set(sources)
    given_up = {source_uid(unit) for unit in rest.removed} | rest.discarded
    assert not (left & used), "stock is still there although a unit was made from it"
    assert used <= consumed <= used | given_up, f"consumed {consumed}, but units are from {used}"
    assert not (used & rest.discarded), "a unit was made from stock that an operator deleted"


def nothing_stays_claimed(rest: Rest) -> None:
    claimed = [unit.metadata.name for unit in rest.stock if claim_validity.is_claimed(unit)]
    assert not claimed, f"claimed for ever: {claimed}"


def everything_has_ended(rest: Rest) -> None:
    for record in rest.records:
        phase = record.status.phase
        assert phase in (OperationPhase.SUCCEEDED, OperationPhase.FAILED), f"unfinished: {record}"


def records_tell_what_is(rest: Rest) -> None:
    units = {unit.metadata.uid: unit for unit in rest.units}
    removed = {unit.metadata.uid for unit in rest.removed}
    for record in filter(has_succeeded, rest.of(OperationType.CREATE_GPU_UNIT)):
        made = [found.uid for found in record.status.objects]
        assert len(made) == 1, f"not one object: {record}"
        if made[0] in removed:
            continue
        unit = units.pop(made[0], None)
        assert unit is not None, f"the unit of {record.spec.operation_id} is not there"
        assert record.spec.stock is not None
        assert source_uid(unit) == record.spec.stock.uid, "made from other stock than recorded"
    assert not units, f"units without a record: {list(units)}"


def seeds_list_what_they_made(rest: Rest) -> None:
    """Each ordinal was made once for good: what is not listed never was ready, and is gone."""
    listed = [
        made.uid
        for record in rest.of(OperationType.SEED_STOCK_UNITS)
        for made in record.status.objects
    ]
    assert len(listed) == len(set(listed)), f"listed twice: {listed}"
    for record in filter(has_succeeded, rest.of(OperationType.SEED_STOCK_UNITS)):
        asked = (record.spec.request or {}).get("replicas", record.status.requested)
        ordinals = [made.ordinal for made in record.status.objects]
        assert ordinals == list(range(asked)), f"asked for {asked}, listed {ordinals}"
        assert record.status.created == record.status.requested == asked, f"miscounted: {record}"
    stock = {unit.metadata.uid: unit for unit in rest.stock}
    gone = {source_uid(unit) for unit in (*rest.units, *rest.removed)} | rest.discarded
    assert set(listed) <= set(stock) | gone, f"listed, but lost: {set(listed) - set(stock) - gone}"
    unlisted = {uid for uid, unit in stock.items() if is_of_an_operation(unit)} - set(listed)
    assert not unlisted, f"made, but not listed: {unlisted}"
    twice = rest.seeded - rest.by_hand - set(listed)
    assert not twice, f"ready, but not listed: {twice}"


def answers_agree(rest: Rest) -> None:
    uids: dict[str, set[str]] = {}
    for answer in rest.answers:
        if answer.uid:
            uids.setdefault(answer.operation_id, set()).add(answer.uid)
    assert all(len(each) == 1 for each in uids.values()), f"different units were told of: {uids}"
    recorded = {
        record.spec.operation_id: record.status.objects[0].uid
        for record in filter(has_succeeded, rest.of(OperationType.CREATE_GPU_UNIT))
    }
    told = {operation: next(iter(each)) for operation, each in uids.items()}
    wrong = {name: uid for name, uid in told.items() if recorded.get(name) != uid}
    assert not wrong, f"told of units that the records do not hold: {wrong}"
    one_answer_is_new(rest)


def one_answer_is_new(rest: Rest) -> None:
    """Of a seed one for each attempt, as it is answered when it begins."""
    attempts = {
        record.spec.operation_id: 1 + record.status.attempt
        for record in rest.of(OperationType.SEED_STOCK_UNITS)
    }
    news = Counter(answer.operation_id for answer in rest.answers if answer.is_new)
    most = {name: attempts.get(name, 1) for name in news}
    assert all(news[name] <= most[name] for name in news), f"new more than once: {news}"


def everybody_got_what_they_asked_for(rest: Rest) -> None:
    """One request is behind an operation: who sent another was refused, and nobody else was."""
    recorded = {record.spec.operation_id: record.spec.request_hash for record in rest.records}
    sources = {
        unit.metadata.uid: unit.metadata.annotations.get(wellknown.SOURCE_STOCK_NAME)
        for unit in (*rest.units, *rest.removed)
    }
    for answer in rest.answers:
        asked, is_refused = answer.asked, answer.code == "operation_conflict"
        if asked is None or (answer.code and not is_refused):
            continue
        is_it = recorded.get(answer.operation_id) == request_hash(asked)
        assert is_it != is_refused, f"another request is recorded, or is not: {answer}"
        if isinstance(asked, CreateUnit) and asked.stock_name and answer.uid:
            assert sources.get(answer.uid) == asked.stock_name, f"of other stock: {answer}"


def what_was_accepted_is_recorded(rest: Rest) -> None:
    told = {answer.record for answer in rest.answers if answer.record}
    lost = told - {record.metadata.uid for record in rest.records}
    assert not lost, f"told of records that are not there: {lost}"


def has_succeeded(record: Operation) -> bool:
    return record.status.phase == OperationPhase.SUCCEEDED


def is_of_an_operation(stock: GPUUnit) -> bool:
    return wellknown.OPERATION_ID in stock.metadata.annotations


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


def who_was_refused_has_nothing(rest: Rest) -> None:
    """Where each operation has one caller, its last word is what became of it."""
    last = {answer.operation_id: answer.code for answer in rest.answers}
    done = {record.spec.operation_id for record in rest.records if has_succeeded(record)}
    refused = {name: code for name, code in last.items() if code not in ("", "operation_conflict")}
    wrong = {name: code for name, code in refused.items() if name in done}
    assert not wrong, f"refused, but done: {wrong}"


def everybody_is_served(rest: Rest) -> None:
    """Where there is stock for all of them, nobody is sent away for good."""
    served = {answer.operation_id for answer in rest.answers if answer.uid}
    sent_away = {answer.operation_id for answer in rest.answers if answer.code} - served
    assert not sent_away, f"sent away: {sent_away}"
