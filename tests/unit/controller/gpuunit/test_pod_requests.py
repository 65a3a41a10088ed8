"""Tests of pod requests: they are added and compared as quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.gpuunit.pod_requests import has_no_gpu_for, is_within_requests_of, total_requests
from shared.k8s.quantity import Quantity
from tests.support.builders.workloads import new_pod, pending_pod, running_pod

GPU = "nvidia.com/gpu"
ONE = {GPU: "1", "memory": "16Gi"}
AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", GPU]), st.integers(0, 9).map(str), max_size=3
)


@pytest.mark.parametrize(
    ("asked", "is_useless"),
    [
        ({GPU: "1"}, False),
        ({GPU: "2"}, False),
        ({"example.com/gpu": "1"}, True),
        ({"memory": "1Gi", GPU: "0"}, False),
    ],
)
def test_a_holder_has_no_gpu_for_a_pod_that_requests_other_gpus(
    asked: dict[str, str], is_useless: bool
) -> None:
    assert has_no_gpu_for(running_pod(requests=ONE), pending_pod(requests=asked)) is is_useless


@given(AMOUNTS)
def test_a_pod_fits_in_place_of_a_pod_with_equal_requests(amounts: dict[str, str]) -> None:
    assert is_within_requests_of(new_pod(requests=amounts), new_pod(requests=amounts))


@given(AMOUNTS, AMOUNTS)
def test_a_pod_fits_if_none_of_its_requests_is_larger(
    mine: dict[str, str], held: dict[str, str]
) -> None:
    fits = all(int(amount) <= int(held.get(name, "0")) for name, amount in mine.items())
    assert is_within_requests_of(new_pod(requests=mine), new_pod(requests=held)) is fits


def test_requests_are_compared_as_quantities() -> None:
    assert is_within_requests_of(
        new_pod(requests={"memory": "1024Mi"}), new_pod(requests={"memory": "1Gi"})
    )
    assert not is_within_requests_of(
        new_pod(requests={"cpu": "1"}), new_pod(requests={"cpu": "999m"})
    )


def test_the_requests_of_all_containers_are_added() -> None:
    each = {"name": "a", "resources": {"requests": {"cpu": "500m"}}}
    pod = new_pod(spec={"containers": [each, each]})
    assert total_requests(pod) == {"cpu": Quantity.parse("1")}


def test_requests_of_sidecars_are_added_and_those_of_other_init_containers_are_not() -> None:
    sidecar = {"name": "worker", "restartPolicy": "Always", "resources": {"requests": ONE}}
    first = {"name": "first", "resources": {"requests": {"cpu": "1"}}}
    pod = new_pod(requests=ONE, spec={"initContainers": [sidecar, first]})
    assert total_requests(pod) == {GPU: Quantity.parse("2"), "memory": Quantity.parse("32Gi")}
    assert not is_within_requests_of(pod, new_pod(requests=ONE))
