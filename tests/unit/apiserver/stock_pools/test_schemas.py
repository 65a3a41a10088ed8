"""Tests of the schemas of stock pool requests."""

from typing import Any

import pytest

from apiserver.stock_pools.commands import CreatePool, PoolSettings
from apiserver.stock_pools.schemas import CreatePoolSchema, PoolSettingsSchema
from shared.k8s.pod import Toleration
from tests.unit.apiserver.field_errors import field_errors

BODY = {
    "replicas": 3,
    "maxUnavailable": 1,
    "cpu": "500m",
    "memory": "64Gi",
    "gpu": 1,
    "gpuResource": "nvidia.com/gpu",
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute",
                     "tolerationSeconds": 5}],
    "shmSize": "1Gi",
}  # fmt: skip
SETTINGS = PoolSettings(
    replicas=3,
    max_unavailable=1,
    cpu="500m",
    memory="64Gi",
    gpu=1,
    gpu_resource="nvidia.com/gpu",
    node_selector={"zone": "a"},
    tolerations=(
        Toleration(key="gpu", operator="Exists", effect="NoExecute", toleration_seconds=5),
    ),
    shm_size="1Gi",
)


def test_a_pool_is_read() -> None:
    body = {"operationID": "p-1", "name": "g1", "specName": "g1.1", **BODY}
    assert CreatePoolSchema().parse(body) == CreatePool("p-1", "g1", "g1.1", SETTINGS)


def test_pool_settings_are_read() -> None:
    assert PoolSettingsSchema().parse(BODY) == SETTINGS
    assert PoolSettingsSchema().parse({}) == PoolSettings()


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"replicas": -1}, {"replicas": "must be from 0 to 2147483647"}),
        ({"replicas": 2**31}, {"replicas": "must be from 0 to 2147483647"}),
        ({"maxUnavailable": 0}, {"maxUnavailable": "must be from 1 to 2147483647"}),
        ({"memory": None}, {"memory": "must not be null"}),
        ({"specName": "g1.2"}, {"specName": "cannot be changed; create another pool"}),
        ({"cpu": "0"}, {"cpu": '"0" must be greater than 0'}),
        (
            {"gpuResource": "cpu"},
            {
                "gpuResource": '"cpu" is not an extended resource with the domain of its vendor, '
                "such as nvidia.com/gpu"
            },
        ),
        ({"nodeSelector": {"a": None}}, {"nodeSelector['a']": "is not text"}),
        (
            {"nodeSelector": {"a": "x y"}},
            {
                "nodeSelector['a']": '"x y" is not the value of a label: letters, digits, -, _ '
                "and ., at most 63 characters, such as eu-west"
            },
        ),
        (
            {"tolerations": [{"operator": "Like", "key": "a"}]},
            {"tolerations[0].operator": '"Like" must be Equal or Exists'},
        ),
        (
            {"tolerations": [{"key": "a", "tolerationSeconds": "5"}]},
            {"tolerations[0].tolerationSeconds": "is not a whole number"},
        ),
    ],
)
def test_problems_of_pool_settings_are_named_by_field(
    body: dict[str, Any], errors: dict[str, str]
) -> None:
    assert field_errors(PoolSettingsSchema(), body) == errors


def test_a_pool_needs_an_operation_a_name_and_a_spec() -> None:
    assert set(field_errors(CreatePoolSchema(), {})) == {"operationID", "name", "specName"}
