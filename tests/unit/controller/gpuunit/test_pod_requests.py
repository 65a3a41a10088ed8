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
    ("requests", "expected"),
    [
        ({GPU: "1"}, False),
        ({GPU: "2"}, False),
        ({"example.com/gpu": "1"}, True),
        ({"memory": "1Gi", GPU: "0"}, False),
    ],
)
def test_a_holder_has_no_gpu_for_a_pod_that_requests_other_gpus(
    requests: dict[str, str], expected: bool
) -> None:
    assert has_no_gpu_for(running_pod(requests=ONE), pending_pod(requests=requests)) is expected


@given(AMOUNTS)
def test_a_pod_fits_in_place_of_a_pod_with_equal_requests(amounts: dict[str, str]) -> None:
    assert is_within_requests_of(new_pod(requests=amounts), new_pod(requests=amounts))


@given(AMOUNTS, AMOUNTS)
def test_a_pod_fits_if_none_of_its_requests_is_larger(
    requested: dict[str, str], available: dict[str, str]
) -> None:
    fits = all(int(amount) <= int(available.get(name, "0")) for name, amount in requested.items())
    assert is_within_requests_of(new_pod(requests=requested), new_pod(requests=available)) is fits


def test_requests_are_compared_as_quantities() -> None:
    assert is_within_requests_of(
        new_pod(requests={"memory": "1024Mi"}), new_pod(requests={"memory": "1Gi"})
    )
    assert not is_within_requests_of(
        new_pod(requests={"cpu": "1"}), new_pod(requests={"cpu": "999m"})
    )


def test_the_requests_of_all_containers_are_added() -> None:
    container = {"name": "a", "resources": {"requests": {"cpu": "500m"}}}
    pod = new_pod(spec={"containers": [container, container]})
    assert total_requests(pod) == {"cpu": Quantity.parse("1")}


def test_requests_of_sidecars_are_added_and_those_of_other_init_containers_are_not() -> None:
    sidecar = {"name": "worker", "restartPolicy": "Always", "resources": {"requests": ONE}}
    first = {"name": "first", "resources": {"requests": {"cpu": "1"}}}
    pod = new_pod(requests=ONE, spec={"initContainers": [sidecar, first]})
    assert total_requests(pod) == {GPU: Quantity.parse("2"), "memory": Quantity.parse("32Gi")}
    assert not is_within_requests_of(pod, new_pod(requests=ONE))
