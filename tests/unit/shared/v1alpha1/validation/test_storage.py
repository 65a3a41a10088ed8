"""Tests of the validation of storages: a message has the field and the value."""

import pytest

from shared.v1alpha1.gpustorage import GPUStorageSpec, PrepareSpec
from shared.v1alpha1.validation.storage import storage_problems


def problems(size: str = "1Gi", source: str = "") -> list[str]:
    spec = GPUStorageSpec(size=size, prepare=PrepareSpec(from_storage_name=source))
    return [problem.text for problem in storage_problems(spec)]


@pytest.mark.parametrize("size", ["1Gi", "0.5", "1e-9", "9E"])
def test_a_valid_storage_size_is_accepted(size: str) -> None:
    assert problems(size) == []


@pytest.mark.parametrize(
    ("size", "reason"),
    [("0", "must be greater than 0"), ("16E", "at most 2^63-1"), ("1e999", "at most 2^63-1")],
)
def test_an_invalid_storage_size_is_refused(size: str, reason: str) -> None:
    (text,) = problems(size)
    assert text.startswith(f'spec.size: "{size}" ')
    assert reason in text


def test_an_invalid_name_of_the_source_storage_is_refused() -> None:
    assert problems(source="data") == []
    (text,) = problems(source="Bad_Name")
    assert text.startswith('spec.prepare.fromStorageName: "Bad_Name" is not the name of a storage')
