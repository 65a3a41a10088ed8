"""What must hold once everything has come to rest, whatever happened before.

One checker for the model and for the real server: over all objects that are left, and over all
answers that callers got.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.operations.request_hash import request_hash
from apiserver.stock_units.commands import SeedStock
from apiserver.units.commands import CreateUnit
from controller.gpuunit.handoff import claim_validity
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.storage_lock import parse_storage_lock


@dataclass(frozen=True)
class CallerResult:
    """What a caller was told: the unit's uid, an error's code, or only that there is a record.

    `asked` is what it had sent, where that is known.
    """

    operation_id: str
    is_new: bool
    unit_uid: str = ""
    error_code: str = ""
    operation_uid: str = ""
    command: CreateUnit | SeedStock | None = None


@dataclass(frozen=True)
class FinalState:
    """The cluster at rest; `seeded` is the stock that ever was ready, by uid.

    `by_hand` of it was made by no operation, and `discarded` were deleted by operators.
    `removed` are units that their users have deleted: their stock was consumed, or came back.
    """

    seeded: frozenset[str]
    created_by_hand: frozenset[str]
    discarded: frozenset[str]
    removed: Sequence[GPUUnit]
    stock: Sequence[GPUUnit]
    units: Sequence[GPUUnit]
    operations: Sequence[Operation]
    results: Sequence[CallerResult]
    storages: Sequence[GPUStorage] = ()

    def operations_of_type(self, operation_type: OperationType) -> list[Operation]:
        """The records of one type."""
        return [record for record in self.operations if record.spec.type == operation_type]


def check_invariants(final: FinalState) -> None:
    """Raise AssertionError with the first invariant that does not hold."""
    check_stock_used_once(final)
    check_no_stock_claimed(final)
    check_operations_final(final)
    check_create_operations_match_units(final)
    check_seed_operations_match_stock(final)
    check_results_agree(final)
    check_results_match_requests(final)
    check_accepted_operations_exist(final)
    check_storage_locks_match_mounts(final)


def check_stock_used_once(final: FinalState) -> None:
    sources = Counter(source_stock_uid(unit) for unit in final.units)
    assert all(count == 1 for count in sources.values()), f"stock was used twice: {sources}"
    left = {unit.metadata.uid for unit in final.stock}
    consumed, used = final.seeded - left, set(sources)
    given_up = {source_stock_uid(unit) for unit in final.removed} | final.discarded
    assert not (left & used), "stock is still there although a unit was made from it"
    assert used <= consumed <= used | given_up, f"consumed {consumed}, but units are from {used}"
    assert not (used & final.discarded), "a unit was made from stock that an operator deleted"


def check_no_stock_claimed(final: FinalState) -> None:
    claimed = [unit.metadata.name for unit in final.stock if claim_validity.is_claimed(unit)]
    assert not claimed, f"claimed for ever: {claimed}"


def check_operations_final(final: FinalState) -> None:
    for record in final.operations:
        phase = record.status.phase
        assert phase in (OperationPhase.SUCCEEDED, OperationPhase.FAILED), f"unfinished: {record}"


def check_create_operations_match_units(final: FinalState) -> None:
    units = {unit.metadata.uid: unit for unit in final.units}
    removed = {unit.metadata.uid for unit in final.removed}
    for record in filter(has_succeeded, final.operations_of_type(OperationType.CREATE_GPU_UNIT)):
        made = [found.uid for found in record.status.objects]
        assert len(made) == 1, f"not one object: {record}"
        if made[0] in removed:
            continue
        unit = units.pop(made[0], None)
        assert unit is not None, f"the unit of {record.spec.operation_id} is not there"
        assert record.spec.stock is not None
        assert source_stock_uid(unit) == record.spec.stock.uid, (
            "made from other stock than recorded"
        )
    assert not units, f"units without a record: {list(units)}"


def check_seed_operations_match_stock(final: FinalState) -> None:
    """Each ordinal was made once for good: what is not listed never was ready, and is gone."""
    listed = [
        made.uid
        for record in final.operations_of_type(OperationType.SEED_STOCK_UNITS)
        for made in record.status.objects
    ]
    assert len(listed) == len(set(listed)), f"listed twice: {listed}"
    for record in filter(has_succeeded, final.operations_of_type(OperationType.SEED_STOCK_UNITS)):
        asked = (record.spec.request or {}).get("replicas", record.status.requested)
        ordinals = [made.ordinal for made in record.status.objects]
        assert ordinals == list(range(asked)), f"asked for {asked}, listed {ordinals}"
        assert record.status.created == record.status.requested == asked, f"miscounted: {record}"
    stock = {unit.metadata.uid: unit for unit in final.stock}
    gone = {source_stock_uid(unit) for unit in (*final.units, *final.removed)} | final.discarded
    assert set(listed) <= set(stock) | gone, f"listed, but lost: {set(listed) - set(stock) - gone}"
    unlisted = {uid for uid, unit in stock.items() if is_from_operation(unit)} - set(listed)
    assert not unlisted, f"made, but not listed: {unlisted}"
    twice = final.seeded - final.created_by_hand - set(listed)
    assert not twice, f"ready, but not listed: {twice}"


def check_results_agree(final: FinalState) -> None:
    uids: dict[str, set[str]] = {}
    for answer in final.results:
        if answer.unit_uid:
            uids.setdefault(answer.operation_id, set()).add(answer.unit_uid)
    assert all(len(each) == 1 for each in uids.values()), f"different units were told of: {uids}"
    recorded = {
        record.spec.operation_id: record.status.objects[0].uid
        for record in filter(has_succeeded, final.operations_of_type(OperationType.CREATE_GPU_UNIT))
    }
    told = {operation: next(iter(each)) for operation, each in uids.items()}
    wrong = {name: uid for name, uid in told.items() if recorded.get(name) != uid}
    assert not wrong, f"told of units that the records do not hold: {wrong}"
    check_one_new_result(final)


def check_one_new_result(final: FinalState) -> None:
    """Of a seed one for each attempt, as it is answered when it begins."""
    attempts = {
        record.spec.operation_id: 1 + record.status.attempt
        for record in final.operations_of_type(OperationType.SEED_STOCK_UNITS)
    }
    news = Counter(answer.operation_id for answer in final.results if answer.is_new)
    most = {name: attempts.get(name, 1) for name in news}
    assert all(news[name] <= most[name] for name in news), f"new more than once: {news}"


def check_results_match_requests(final: FinalState) -> None:
    """One request is behind an operation: who sent another was refused, and nobody else was."""
    recorded = {record.spec.operation_id: record.spec.request_hash for record in final.operations}
    sources = {
        unit.metadata.uid: unit.metadata.annotations.get(wellknown.SOURCE_STOCK_NAME_ANNOTATION)
        for unit in (*final.units, *final.removed)
    }
    for answer in final.results:
        asked, is_refused = answer.command, answer.error_code == "operation_conflict"
        if asked is None or (answer.error_code and not is_refused):
            continue
        is_it = recorded.get(answer.operation_id) == request_hash(asked)
        assert is_it != is_refused, f"another request is recorded, or is not: {answer}"
        if isinstance(asked, CreateUnit) and asked.stock_name and answer.unit_uid:
            assert sources.get(answer.unit_uid) == asked.stock_name, f"of other stock: {answer}"


def check_accepted_operations_exist(final: FinalState) -> None:
    told = {answer.operation_uid for answer in final.results if answer.operation_uid}
    lost = told - {record.metadata.uid for record in final.operations}
    assert not lost, f"told of records that are not there: {lost}"


def has_succeeded(operation: Operation) -> bool:
    return operation.status.phase == OperationPhase.SUCCEEDED


def is_from_operation(stock: GPUUnit) -> bool:
    return wellknown.OPERATION_ID_ANNOTATION in stock.metadata.annotations


def check_storage_locks_match_mounts(final: FinalState) -> None:
    users: dict[str, list[str]] = {storage.metadata.name: [] for storage in final.storages}
    for unit in final.units:
        for mount in unit.spec.storage_mounts:
            users[mount.name].append(unit.metadata.name)
    locks = {
        each.metadata.name: parse_storage_lock(each.metadata.annotations) for each in final.storages
    }
    holders = {name: [lock.unit] if lock else [] for name, lock in locks.items()}
    assert users == holders, f"mounted by {users}, but held by {holders}"


def source_stock_uid(unit: GPUUnit) -> str:
    return unit.metadata.annotations.get(wellknown.SOURCE_STOCK_UID_ANNOTATION, "")


def check_refused_have_nothing(final: FinalState) -> None:
    """Where each operation has one caller, its last word is what became of it."""
    last = {answer.operation_id: answer.error_code for answer in final.results}
    done = {record.spec.operation_id for record in final.operations if has_succeeded(record)}
    refused = {name: code for name, code in last.items() if code not in ("", "operation_conflict")}
    wrong = {name: code for name, code in refused.items() if name in done}
    assert not wrong, f"refused, but done: {wrong}"


def check_all_served(final: FinalState) -> None:
    """Where there is stock for all of them, nobody is sent away for good."""
    served = {answer.operation_id for answer in final.results if answer.unit_uid}
    sent_away = {answer.operation_id for answer in final.results if answer.error_code} - served
    assert not sent_away, f"sent away: {sent_away}"
