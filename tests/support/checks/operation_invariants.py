"""Invariants of operations, which hold when the cluster no longer changes.

One checker serves the model and the real server. It checks all remaining objects, and all results
of callers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.operations.request_hash import request_hash
from apiserver.stock_units.commands import SeedStock
from apiserver.units.commands import CreateUnit
from shared.v1alpha1 import stock_claim, wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.storage_lock import parse_storage_lock


@dataclass(frozen=True)
class CallerResult:
    """The result of one call: the unit's uid, an error code, or only the Operation's uid.

    `command` is the request of the caller, if it is known.
    """

    operation_id: str
    is_new: bool
    unit_uid: str = ""
    error_code: str = ""
    operation_uid: str = ""
    command: CreateUnit | SeedStock | None = None


@dataclass(frozen=True)
class FinalState:
    """The cluster when it no longer changes; `seeded` are the uids of stock that was ever ready.

    No operation created the stock in `created_by_hand`. Operators deleted the stock in `discarded`.
    `removed` are units that their users deleted: their stock was consumed or released.
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
        """Return the Operations of one type."""
        return [operation for operation in self.operations if operation.spec.type == operation_type]


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
    remaining = {unit.metadata.uid for unit in final.stock}
    consumed, used = final.seeded - remaining, set(sources)
    discarded_or_removed = {source_stock_uid(unit) for unit in final.removed} | final.discarded
    assert not (remaining & used), "stock still exists although a unit was created from it"
    assert used <= consumed <= used | discarded_or_removed, (
        f"consumed {consumed}, but units are from {used}"
    )
    assert not (used & final.discarded), "a unit was created from stock that an operator deleted"


def check_no_stock_claimed(final: FinalState) -> None:
    claimed = [unit.metadata.name for unit in final.stock if stock_claim.is_claimed(unit)]
    assert not claimed, f"claims that are never released: {claimed}"


def check_operations_final(final: FinalState) -> None:
    for operation in final.operations:
        phase = operation.status.phase
        assert phase in (OperationPhase.SUCCEEDED, OperationPhase.FAILED), (
            f"unfinished: {operation}"
        )


def check_create_operations_match_units(final: FinalState) -> None:
    units = {unit.metadata.uid: unit for unit in final.units}
    removed = {unit.metadata.uid for unit in final.removed}
    for operation in filter(has_succeeded, final.operations_of_type(OperationType.CREATE_GPU_UNIT)):
        uids = [entry.uid for entry in operation.status.objects]
        assert len(uids) == 1, f"not one object: {operation}"
        if uids[0] in removed:
            continue
        unit = units.pop(uids[0], None)
        assert unit is not None, f"the unit of {operation.spec.operation_id} does not exist"
        assert operation.spec.stock is not None
        assert source_stock_uid(unit) == operation.spec.stock.uid, (
            "created from other stock than recorded"
        )
    assert not units, f"units without an operation: {list(units)}"


def check_seed_operations_match_stock(final: FinalState) -> None:
    """Check that each ordinal was created once: unlisted stock was never ready, and is deleted."""
    listed = [
        entry.uid
        for operation in final.operations_of_type(OperationType.SEED_STOCK_UNITS)
        for entry in operation.status.objects
    ]
    assert len(listed) == len(set(listed)), f"listed twice: {listed}"
    for operation in filter(
        has_succeeded, final.operations_of_type(OperationType.SEED_STOCK_UNITS)
    ):
        requested = (operation.spec.request or {}).get("replicas", operation.status.requested)
        ordinals = [entry.ordinal for entry in operation.status.objects]
        assert ordinals == list(range(requested)), f"requested {requested}, listed {ordinals}"
        assert operation.status.created == operation.status.requested == requested, (
            f"miscounted: {operation}"
        )
    stock = {unit.metadata.uid: unit for unit in final.stock}
    removed_uids = {
        source_stock_uid(unit) for unit in (*final.units, *final.removed)
    } | final.discarded
    assert set(listed) <= set(stock) | removed_uids, (
        f"listed, but lost: {set(listed) - set(stock) - removed_uids}"
    )
    unlisted = {uid for uid, unit in stock.items() if is_from_operation(unit)} - set(listed)
    assert not unlisted, f"created, but not listed: {unlisted}"
    unlisted_ready = final.seeded - final.created_by_hand - set(listed)
    assert not unlisted_ready, f"ready, but not listed: {unlisted_ready}"


def check_results_agree(final: FinalState) -> None:
    uids: dict[str, set[str]] = {}
    for result in final.results:
        if result.unit_uid:
            uids.setdefault(result.operation_id, set()).add(result.unit_uid)
    assert all(len(returned) == 1 for returned in uids.values()), (
        f"different units returned: {uids}"
    )
    recorded_uids = {
        record.spec.operation_id: record.status.objects[0].uid
        for record in filter(has_succeeded, final.operations_of_type(OperationType.CREATE_GPU_UNIT))
    }
    returned_uids = {operation: next(iter(returned)) for operation, returned in uids.items()}
    wrong = {name: uid for name, uid in returned_uids.items() if recorded_uids.get(name) != uid}
    assert not wrong, f"returned units that the operations do not list: {wrong}"
    check_one_new_result(final)


def check_one_new_result(final: FinalState) -> None:
    """Check that one result of an operation is new; of a seed, one for each attempt."""
    attempts = {
        operation.spec.operation_id: 1 + operation.status.attempt
        for operation in final.operations_of_type(OperationType.SEED_STOCK_UNITS)
    }
    new_results = Counter(result.operation_id for result in final.results if result.is_new)
    allowed = {name: attempts.get(name, 1) for name in new_results}
    assert all(new_results[name] <= allowed[name] for name in new_results), (
        f"new more than once: {new_results}"
    )


def check_results_match_requests(final: FinalState) -> None:
    """Check that each operation has one request; only callers with another one are refused."""
    recorded = {
        operation.spec.operation_id: operation.spec.request_hash for operation in final.operations
    }
    sources = {
        unit.metadata.uid: unit.metadata.annotations.get(wellknown.SOURCE_STOCK_NAME_ANNOTATION)
        for unit in (*final.units, *final.removed)
    }
    for result in final.results:
        command, is_refused = result.command, result.error_code == "operation_conflict"
        if command is None or (result.error_code and not is_refused):
            continue
        is_recorded = recorded.get(result.operation_id) == request_hash(command)
        assert is_recorded != is_refused, (
            f"accepted and refused do not match the recorded request: {result}"
        )
        if isinstance(command, CreateUnit) and command.stock_name and result.unit_uid:
            assert sources.get(result.unit_uid) == command.stock_name, (
                f"created from other stock than requested: {result}"
            )


def check_accepted_operations_exist(final: FinalState) -> None:
    """Check that every Operation that a caller got exists."""
    returned = {result.operation_uid for result in final.results if result.operation_uid}
    lost = returned - {operation.metadata.uid for operation in final.operations}
    assert not lost, f"returned operations that do not exist: {lost}"


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
        storage.metadata.name: parse_storage_lock(storage.metadata.annotations)
        for storage in final.storages
    }
    holders = {name: [lock.unit] if lock else [] for name, lock in locks.items()}
    assert users == holders, f"mounted by {users}, but locked for {holders}"


def source_stock_uid(unit: GPUUnit) -> str:
    return unit.metadata.annotations.get(wellknown.SOURCE_STOCK_UID_ANNOTATION, "")


def check_refused_have_nothing(final: FinalState) -> None:
    """Check that refused operations did nothing, if each operation has one caller."""
    last = {result.operation_id: result.error_code for result in final.results}
    succeeded = {
        operation.spec.operation_id for operation in final.operations if has_succeeded(operation)
    }
    refused = {name: code for name, code in last.items() if code not in ("", "operation_conflict")}
    wrong = {name: code for name, code in refused.items() if name in succeeded}
    assert not wrong, f"refused, but done: {wrong}"


def check_all_served(final: FinalState) -> None:
    """Check that every operation got a unit, if there is stock for all of them."""
    served = {result.operation_id for result in final.results if result.unit_uid}
    refused = {result.operation_id for result in final.results if result.error_code} - served
    assert not refused, f"refused at the end: {refused}"
