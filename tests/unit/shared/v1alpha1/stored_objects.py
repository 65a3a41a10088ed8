"""One object of each kind as the API server stores it, with every field in use."""

from typing import Any

STORED_METADATA = {
    "name": "a",
    "namespace": "here",
    "uid": "u-1",
    "resourceVersion": "7",
    "generation": 2,
    "labels": {"k": "v"},
    "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-2", "controller": True}
    ],
    "finalizers": ["runtime.lokiwager.io/queue"],
    "creationTimestamp": "2026-01-01T00:00:00Z",
}
READY_CONDITION = {
    "type": "Ready",
    "status": "True",
    "observedGeneration": 2,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "UnitReady",
    "message": "",
}
STORED_UNIT: dict[str, Any] = {
    "metadata": STORED_METADATA,
    "spec": {
        "specName": "g1.1",
        "image": "busybox",
        "cpu": "4",
        "memory": "16Gi",
        "gpu": 1,
        "gpuResource": "example.com/gpu",
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 5}],
        "shmSize": "1Gi",
        "imagePullSecrets": ["registry"],
        "template": {
            "command": ["sh"],
            "args": ["-c", "true"],
            "envs": [
                {"name": "A", "value": "1"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ],
            "ports": [{"name": "dns", "port": 53, "protocol": "UDP"}],
        },
        "access": {"primaryPort": "dns", "scheme": "tcp"},
        "storageMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
        "serverless": {"requestID": "echo", "framework": {"socketPath": "/run/f.sock"}},
    },
    "status": {
        "phase": "Ready",
        "readyReplicas": 1,
        "observedGeneration": 2,
        "lastSyncTime": "2026-01-01T00:00:00Z",
        "serviceName": "unit-a",
        "accessURL": "tcp://unit-a.here.svc.cluster.local:53",
        "nodeName": "n1",
        "serverless": {"phase": "Ready"},
        "conditions": [READY_CONDITION],
    },
}
STORED_POOL: dict[str, Any] = {
    "metadata": STORED_METADATA,
    "spec": {"specName": "g1.1", "memory": "1Gi", "replicas": 3, "maxUnavailable": 2},
    "status": {
        "phase": "Degraded",
        "replicas": 3,
        "available": 1,
        "allocated": 9,
        "selector": "runtime.lokiwager.io/pool=a",
        "observedGeneration": 2,
        "conditions": [READY_CONDITION],
    },
}
STORED_STORAGE: dict[str, Any] = {
    "metadata": STORED_METADATA,
    "spec": {
        "size": "1Gi",
        "storageClassName": "",
        "prepare": {"fromImage": "busybox", "command": ["sh"], "args": ["-c", "true"]},
        "accessor": {"enabled": True},
    },
    "status": {
        "phase": "Ready",
        "claimName": "a",
        "storageClassName": "fast",
        "capacity": "1Gi",
        "prepare": {"phase": "Succeeded", "jobName": "prepare-a", "observedDigest": "d"},
        "accessor": {"phase": "Ready", "serviceName": "accessor-a", "accessURL": "http://a"},
        "mountedBy": "unit",
        "conditions": [READY_CONDITION],
    },
}
STORED_OPERATION: dict[str, Any] = {
    "metadata": STORED_METADATA,
    "spec": {
        "operationID": "order-1",
        "type": "CreateGPUUnit",
        "requestHash": "v1:abc",
        "request": {"name": "a", "template": {"ports": [{"port": 1}]}},
        "stock": {"name": "s", "uid": "u-3"},
    },
    "status": {
        "phase": "Succeeded",
        "attempt": 1,
        "requested": 1,
        "created": 1,
        "objects": [
            {"kind": "GPUUnit", "namespace": "here", "name": "a", "uid": "u-4", "ordinal": 0}
        ],
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T00:00:01Z",
    },
}
STORED_FUNCTION: dict[str, Any] = {
    "metadata": STORED_METADATA,
    "spec": {
        "specName": "g1.1",
        "image": "local/echo",
        "minWorkers": 1,
        "maxWorkers": 4,
        "framework": {"invokePath": "/invoke"},
    },
    "status": {"phase": "Ready", "workers": 1, "workerCounter": 5, "conditions": [READY_CONDITION]},
}
