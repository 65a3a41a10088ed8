"""Tests of the manifest of a pool's units."""

from controller.stockpool.manifest import unit_manifest
from shared.k8s.pod import Toleration
from tests.unit.controller.stockpool.pool_objects import new_pool


def test_a_unit_has_the_resources_of_its_pool_and_is_owned_by_it() -> None:
    pool = new_pool(
        5,
        max_unavailable=2,
        cpu="4",
        shm_size="1Gi",
        gpu_resource="example.com/gpu",
        node_selector={"zone": "a"},
        tolerations=(Toleration(key="gpu", operator="Exists"),),
    )
    assert unit_manifest(pool, "warm-0") == {
        "metadata": {
            "namespace": "stock",
            "name": "warm-0",
            "labels": {
                "runtime.lokiwager.io/pool": "warm",
                "app.kubernetes.io/managed-by": "gpu-runtime",
            },
            "ownerReferences": [
                {
                    "apiVersion": "runtime.lokiwager.io/v1alpha1",
                    "kind": "StockPool",
                    "name": "warm",
                    "uid": "pool",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "specName": "g1.1",
            "cpu": "4",
            "memory": "16Gi",
            "gpu": 1,
            "gpuResource": "example.com/gpu",
            "nodeSelector": {"zone": "a"},
            "tolerations": ({"key": "gpu", "operator": "Exists"},),
            "shmSize": "1Gi",
        },
    }
