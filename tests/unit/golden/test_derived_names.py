"""Names, labels, annotations and texts that release 0.1.0 (commit 0e22fbe) stored in Kubernetes.

That release made the data file. An object is found by a name derived from another object, and by
its labels and annotations; other programs read the texts of a status and of an operation.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec
import pytest

from apiserver.errors import (
    AlreadyExistsError,
    ConflictError,
    InsufficientCapacityError,
    InvalidRequestError,
    ServiceError,
)
from apiserver.operations.failure_text import failure_text, recorded_failure
from serverless.activator.sweep.finalizer import DeletePolicy
from shared.invocation.state import FailureClass, InvocationState
from shared.v1alpha1 import names, phases, reasons, wellknown
from shared.v1alpha1.operation import Operation, OperationType
from tests.unit.golden.data import Case, cases

NAMING: Final[dict[str, Callable[[str], str]]] = {
    "unit": names.unit_child_name,
    "egress": names.egress_policy_name,
    "prepare": names.prepare_job_name,
    "accessor": names.accessor_name,
    "volume": names.storage_volume_name,
    "secret": names.queue_secret_name,
    "operation": names.operation_name,
    "label": names.label_hash,
    "worker": lambda text: names.worker_name(text, 12),
    "pool": lambda text: names.pool_unit_name(text, 12),
    "stock": lambda text: names.stock_unit_name(text, 12),
}
WORDS: Final[dict[str, type[StrEnum]]] = {
    "phase of a unit": phases.UnitPhase,
    "phase of a worker": phases.WorkerPhase,
    "phase of a pool": phases.PoolPhase,
    "phase of a storage": phases.StoragePhase,
    "phase of a filling": phases.PreparePhase,
    "phase of an accessor": phases.AccessorPhase,
    "phase of an operation": phases.OperationPhase,
    "phase of a function": phases.FunctionPhase,
    "condition": reasons.ConditionType,
    "reason of a unit": reasons.UnitReason,
    "reason of a worker": reasons.WorkerReason,
    "reason of a pool": reasons.PoolReason,
    "reason of a storage": reasons.StorageReason,
    "reason of a function": reasons.FunctionReason,
    "reason of an event": reasons.EventReason,
    "type of an operation": OperationType,
    "state of an invocation": InvocationState,
    "class of a failure": FailureClass,
    "end of a function": DeletePolicy,
}
FAILURES: Final[tuple[type[ServiceError], ...]] = (
    AlreadyExistsError,
    ConflictError,
    InsufficientCapacityError,
    InvalidRequestError,
)


def named(text: str) -> dict[str, str]:
    """Return every name that is derived from a text."""
    return {kind: name(text) for kind, name in NAMING.items()}


def marks() -> list[str]:
    """Return every label, annotation, finalizer and priority of the product."""
    return sorted(value for name, value in vars(wellknown).items() if name.isupper())


def failures() -> list[str]:
    """Return the stored text of each failure; check that it is read as the same failure."""
    texts = []
    for kind in FAILURES:
        text = failure_text(kind("the: reason"))
        asked = {"operationID": "o", "type": "t", "requestHash": "h"}
        record = {"metadata": {}, "spec": asked, "status": {"message": text}}
        read = recorded_failure(msgspec.convert(record, Operation))
        assert (type(read), read.message) == (kind, "the: reason")
        texts.append(text)
    return texts


@pytest.mark.parametrize("case", cases("derived_names", "names"))
def test_a_derived_name_is_that_of_the_release(case: Case) -> None:
    assert named(case.given) == case.made


@pytest.mark.parametrize("case", cases("derived_names", "words"))
def test_the_stored_values_of_an_enumeration_are_still_known(case: Case) -> None:
    """Check known words only: a later release may add words, which data of 0.1.0 does not have."""
    known = [word.value for word in WORDS[case.given]]
    assert [word for word in known if word in case.made] == case.made


@pytest.mark.parametrize("case", cases("derived_names", "marks"))
def test_the_labels_and_annotations_are_those_of_the_release(case: Case) -> None:
    assert marks() == case.made


@pytest.mark.parametrize("case", cases("derived_names", "failures"))
def test_a_stored_failure_is_read_and_written_unchanged(case: Case) -> None:
    assert failures() == case.made
