"""A catalogued spec has one envelope; every other needs its memory."""

import pytest

from apiserver.errors import ConflictError, InvalidRequestError
from apiserver.specs.catalogue import Catalogue, CatalogueEntry, Given
from shared.v1alpha1.unit_resources import Envelope

LARGE = Envelope(spec_name="g1.8", cpu="32", memory="256Gi", gpu=8, node_selector={"zone": "a"})
CATALOGUE = Catalogue({"g1.8": CatalogueEntry(LARGE, "eight at once")})


def test_a_catalogued_spec_needs_no_envelope() -> None:
    assert CATALOGUE.envelope("g1.8", Given()) == LARGE


@pytest.mark.parametrize(
    "given",
    [
        Given(memory="256Gi"),
        Given(memory="262144Mi"),
        Given(gpu=8),
        Given(node_selector={"zone": "a"}),
    ],
)
def test_the_same_envelope_may_be_said_again(given: Given) -> None:
    assert CATALOGUE.envelope("g1.8", given) == LARGE


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (Given(memory="128Gi"), "memory"),
        (Given(gpu=0), "gpu"),
        (Given(cpu=""), "cpu"),
        (Given(gpu_resource="amd.com/gpu"), "gpuResource"),
        (Given(node_selector={}), "nodeSelector"),
        (Given(shm_size="1Gi"), "shmSize"),
    ],
)
def test_another_envelope_is_refused_by_field(given: Given, field: str) -> None:
    with pytest.raises(ConflictError) as refused:
        CATALOGUE.envelope("g1.8", given)
    assert [detail.field for detail in refused.value.details] == [field]


def test_a_spec_that_is_not_catalogued_has_what_the_caller_gives() -> None:
    envelope = CATALOGUE.envelope("mine", Given(memory="1Gi", gpu=1))
    assert envelope == Envelope(spec_name="mine", memory="1Gi", gpu=1)


def test_a_spec_that_is_not_catalogued_needs_its_memory() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        CATALOGUE.envelope("mine", Given(gpu=1))
    assert [detail.field for detail in refused.value.details] == ["memory"]
