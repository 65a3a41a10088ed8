"""Schemas of health and of the probes."""

from typing import Any

from marshmallow import Schema, fields

from apiserver.schemas.response import ViewSchema
from shared.time import format_timestamp


class _Timestamp(fields.String):
    def _serialize(self, value: Any, *_: Any, **__: Any) -> str:
        return format_timestamp(value)


class HealthSchema(ViewSchema):
    """The state of the connections and of the cluster; unknown values are left out."""

    started_at = _Timestamp(data_key="startedAt", required=True, metadata={"format": "date-time"})
    uptime_seconds = fields.Integer(data_key="uptimeSeconds", required=True)
    version = fields.String(required=True)
    kubernetes_connected = fields.Boolean(data_key="kubernetesConnected", required=True)
    kube_error = fields.String(data_key="kubeError")
    kubernetes_version = fields.String(data_key="kubernetesVersion")
    node_count = fields.Integer(data_key="nodeCount")
    ready_node_count = fields.Integer(data_key="readyNodeCount")
    total_gpu_capacity = fields.Integer(data_key="totalGPUCapacity")
    total_gpu_allocatable = fields.Integer(data_key="totalGPUAllocatable")
    gpu_products = fields.List(fields.String(), data_key="gpuProducts")
    stock_unit_count = fields.Dict(
        keys=fields.String(), values=fields.Integer(), data_key="stockUnitCount"
    )
    active_unit_count = fields.Dict(
        keys=fields.String(), values=fields.Integer(), data_key="activeUnitCount"
    )
    queue_connected = fields.Boolean(data_key="queueConnected", required=True)
    queue_error = fields.String(data_key="queueError")
    age_seconds = fields.Float(
        data_key="ageSeconds",
        metadata={"description": "Age of the oldest data about the cluster."},
    )


class HealthAnswerSchema(Schema):
    """The envelope of health."""

    data = fields.Nested(HealthSchema, required=True)


class StatusSchema(Schema):
    """The status of the process: `alive` or `ready`."""

    status = fields.String(required=True)


class StatusAnswerSchema(Schema):
    """The envelope of a successful probe."""

    data = fields.Nested(StatusSchema, required=True)


class ReasonsSchema(Schema):
    """The reasons why the process is not ready, one sentence each."""

    reasons = fields.List(fields.String(), required=True)


class ReasonsAnswerSchema(Schema):
    """The envelope of a failed readiness probe."""

    data = fields.Nested(ReasonsSchema, required=True)
