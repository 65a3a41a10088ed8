"""Tests of the catalogue: a spec in it has fixed resources; any other spec needs its memory."""

import pytest

from apiserver.errors import ConflictError, InvalidRequestError
from apiserver.specs.catalogue import Catalogue, CatalogueEntry, RequestedResources
from shared.v1alpha1.unit_resources import UnitResources

LARGE = UnitResources(
    spec_name="g1.8", cpu="32", memory="256Gi", gpu=8, node_selector={"zone": "a"}
)
CATALOGUE = Catalogue({"g1.8": CatalogueEntry(LARGE, "eight at once")})


def test_a_catalogued_spec_needs_no_resources() -> None:
    assert CATALOGUE.resolve_resources("g1.8", RequestedResources()) == LARGE


@pytest.mark.parametrize(
    "requested",
    [
        RequestedResources(memory="256Gi"),
        RequestedResources(memory="262144Mi"),
        RequestedResources(gpu=8),
        RequestedResources(node_selector={"zone": "a"}),
    ],
)
def test_a_catalogued_spec_accepts_equal_resources(requested: RequestedResources) -> None:
    assert CATALOGUE.resolve_resources("g1.8", requested) == LARGE


@pytest.mark.parametrize(
    ("requested", "field"),
    [
        (RequestedResources(memory="128Gi"), "memory"),
        (RequestedResources(gpu=0), "gpu"),
        (RequestedResources(cpu=""), "cpu"),
        (RequestedResources(gpu_resource="amd.com/gpu"), "gpuResource"),
        (RequestedResources(node_selector={}), "nodeSelector"),
        (RequestedResources(shm_size="1Gi"), "shmSize"),
    ],
)
def test_other_resources_of_a_catalogued_spec_are_refused_by_field(
    requested: RequestedResources, field: str
) -> None:
    with pytest.raises(ConflictError) as refused:
        CATALOGUE.resolve_resources("g1.8", requested)
    assert [detail.field for detail in refused.value.details] == [field]


def test_a_spec_outside_the_catalogue_has_the_requested_resources() -> None:
    resources = CATALOGUE.resolve_resources("mine", RequestedResources(memory="1Gi", gpu=1))
    assert resources == UnitResources(spec_name="mine", memory="1Gi", gpu=1)


def test_a_spec_outside_the_catalogue_requires_memory() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        CATALOGUE.resolve_resources("mine", RequestedResources(gpu=1))
    assert [detail.field for detail in refused.value.details] == ["memory"]
