"""Tests of the validation of storages: errors with field and value beyond the CRD schema."""

import pytest

from shared.v1alpha1.gpustorage import GPUStorageSpec, PrepareSpec
from shared.v1alpha1.validation.storage import storage_problems


def problems(size: str = "1Gi", origin: str = "") -> list[str]:
    spec = GPUStorageSpec(size=size, prepare=PrepareSpec(from_storage_name=origin))
    return [problem.text for problem in storage_problems(spec)]


@pytest.mark.parametrize("size", ["1Gi", "0.5", "1e-9", "9E"])
def test_a_size_is_taken(size: str) -> None:
    assert problems(size) == []


@pytest.mark.parametrize(
    ("size", "why"),
    [("0", "must be greater than 0"), ("16E", "at most 2^63-1"), ("1e999", "at most 2^63-1")],
)
def test_a_size_that_no_volume_has_is_named(size: str, why: str) -> None:
    (said,) = problems(size)
    assert said.startswith(f'spec.size: "{size}" ')
    assert why in said


def test_an_origin_that_no_storage_can_be_called_is_named() -> None:
    assert problems(origin="data") == []
    (said,) = problems(origin="Bad_Name")
    assert said.startswith('spec.prepare.fromStorageName: "Bad_Name" is not the name of a storage')
