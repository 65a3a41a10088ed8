"""Users' units in the examples of the API document."""

from typing import Final

from apiserver.operations import examples
from apiserver.units.views import GPUUnitViewSchema
from shared.k8s.meta import Condition, ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec, GPUUnitStatus, UnitAccess
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.operation import OperationType
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import ConditionType, UnitReason
from shared.v1alpha1.template import EnvVar, Port, WorkloadTemplate

_MODEL: Final = GPUUnit(
    metadata=ObjectMeta(
        name="trainer",
        namespace="runtime-instance",
        uid="0b6f0a52-61a5-4a8e-9f0c-2f3c5f0f7a10",
        generation=1,
        labels={"tenant": "blue"},
        annotations={
            wellknown.OPERATION_ID_ANNOTATION: "order-4711",
            wellknown.SOURCE_STOCK_NAME_ANNOTATION: "stock-hk3q2vtd4f7u5c2m6x3yqkz7pa4wbn5e-0",
            wellknown.SOURCE_STOCK_NAMESPACE_ANNOTATION: "runtime-stock",
        },
        creation_timestamp="2026-11-16T04:41:00Z",
    ),
    spec=GPUUnitSpec(
        spec_name="g1.1",
        cpu="8",
        memory="64Gi",
        gpu=1,
        image="registry.example.com/trainer:7",
        template=WorkloadTemplate(
            args=("--epochs", "3"),
            envs=(EnvVar(name="MODE", value="fast"),),
            ports=(Port(name="http", port=8080),),
        ),
        access=UnitAccess(primary_port="http"),
        storage_mounts=(StorageMount(name="data", mount_path="/data"),),
    ),
    status=GPUUnitStatus(
        phase=UnitPhase.READY.value,
        ready_replicas=1,
        observed_generation=1,
        last_sync_time="2026-11-16T04:41:04Z",
        service_name="unit-trainer",
        access_url="http://unit-trainer.runtime-instance.svc.cluster.local:8080",
        node_name="gpu-node-0",
        conditions=(
            Condition(
                type=ConditionType.READY.value,
                status="True",
                last_transition_time="2026-11-16T04:41:04Z",
                reason=UnitReason.UNIT_READY.value,
                message="the unit runs",
            ),
        ),
    ),
)
UNIT: Final = {"data": GPUUnitViewSchema().dump(_MODEL)}
UNITS: Final = {"data": [UNIT["data"]], "meta": {"continue": "eyJ2IjoibWV0YS5rOHMuaW8ifQ"}}
JOB: Final = examples.job_response(
    examples.pending_operation("order-4711", OperationType.CREATE_GPU_UNIT)
)
CREATE: Final = {
    "operationID": "order-4711",
    "name": "trainer",
    "specName": "g1.1",
    "image": "registry.example.com/trainer:7",
    "template": {
        "args": ["--epochs", "3"],
        "envs": [{"name": "MODE", "value": "fast"}],
        "ports": [{"name": "http", "port": 8080}],
    },
    "access": {"primaryPort": "http", "scheme": "http"},
    "labels": {"tenant": "blue"},
}
CHANGE: Final = {"image": "registry.example.com/trainer:8", "labels": {"tenant": "green"}}
