"""Tests of the object views: unset fields are absent."""

from apiserver.kube.port import Page
from apiserver.operations import examples as example_jobs
from apiserver.operations.schemas import JobViewSchema
from apiserver.schemas.response import PageMetaSchema
from apiserver.specs.schemas import SpecViewSchema
from apiserver.specs.service import SpecSummary
from apiserver.stock_pools.schemas import StockPoolViewSchema
from apiserver.units import examples as example_units
from apiserver.units.views import GPUUnitViewSchema, StockUnitViewSchema
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.operation import Operation, OperationSpec, OperationStatus
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec
from shared.v1alpha1.unit_resources import UnitResources

META = ObjectMeta(name="a", namespace="n", uid="u", creation_timestamp="2026-11-16T04:40:00Z")


def test_the_view_of_a_new_unit_has_no_unset_fields() -> None:
    unit = GPUUnit(metadata=META, spec=GPUUnitSpec(spec_name="g1.1"))
    assert GPUUnitViewSchema().dump(unit) == {
        "name": "a",
        "namespace": "n",
        "uid": "u",
        "lifecycle": "instance",
        "specName": "g1.1",
        "gpu": 0,
        "readyReplicas": 0,
        "createdAt": "2026-11-16T04:40:00Z",
    }


def test_the_view_of_a_complete_unit_has_every_field_of_the_contract() -> None:
    assert set(example_units.UNIT["data"]) == {
        *("name", "namespace", "lifecycle", "specName", "image", "memory", "gpu", "template"),
        *("access", "storageMounts", "phase", "readyReplicas", "observedGeneration"),
        *("lastSyncTime", "serviceName", "accessURL", "nodeName", "sourceStockName"),
        *("sourceStockNamespace", "reason", "message", "operationID", "createdAt"),
        *("uid", "labels", "cpu"),
    }


def test_product_labels_are_not_shown() -> None:
    labels = {
        "tenant": "blue",
        wellknown.UNIT_LABEL: "a",
        wellknown.MANAGED_BY_LABEL: "gpu-runtime",
    }
    meta = ObjectMeta(name="a", labels=labels)
    view = GPUUnitViewSchema().dump(GPUUnit(metadata=meta, spec=GPUUnitSpec(spec_name="s")))
    assert view["labels"] == {"tenant": "blue"}


def test_the_view_of_a_claimed_stock_unit_names_its_holder() -> None:
    claim = {
        wellknown.CLAIMED_BY_ANNOTATION: "trainer",
        wellknown.CLAIM_OPERATION_ANNOTATION: "o-1",
        wellknown.CLAIMED_AT_ANNOTATION: "2026-11-16T04:41:00Z",
    }
    meta = ObjectMeta(name="a", namespace="n", uid="u", annotations=claim)
    view = StockUnitViewSchema().dump(GPUUnit(metadata=meta, spec=GPUUnitSpec(spec_name="s")))
    assert view == {
        "name": "a",
        "namespace": "n",
        "uid": "u",
        "lifecycle": "stock",
        "specName": "s",
        "gpu": 0,
        "readyReplicas": 0,
        "claimedBy": "trainer",
        "claimOperation": "o-1",
        "claimedAt": "2026-11-16T04:41:00Z",
    }


def test_the_view_of_a_new_job_has_no_objects() -> None:
    job = Operation(
        metadata=META,
        spec=OperationSpec(
            operation_id="s-1",
            type="SeedStockUnits",
            request_hash="v1:x",
            request={"replicas": 7},
        ),
    )
    assert JobViewSchema().dump(job) == {
        "operationID": "s-1",
        "type": "seed_stock_units",
        "status": "pending",
        "requested": 7,
        "created": 0,
        "objects": [],
        "createdAt": "2026-11-16T04:40:00Z",
    }


def test_the_view_of_a_failed_job_has_the_error() -> None:
    spec = OperationSpec(operation_id="o", type="CreateGPUUnit", request_hash="v1:x")
    status = OperationStatus(phase="Failed", message="refused", requested=1)
    view = JobViewSchema().dump(Operation(metadata=META, spec=spec, status=status))
    assert (view["status"], view["error"]) == ("failed", "refused")


def test_the_objects_of_a_job_are_shown_without_their_ordinals() -> None:
    data = example_jobs.JOB["data"]
    assert isinstance(data, dict)
    assert set(data["objects"][0]) == {"kind", "namespace", "name", "uid"}


def test_an_unknown_job_type_is_shown_unchanged() -> None:
    spec = OperationSpec(operation_id="o", type="CreateDream", request_hash="v1:x")
    assert JobViewSchema().dump(Operation(metadata=META, spec=spec))["type"] == "CreateDream"


def test_the_view_of_a_pool_has_the_requested_and_the_current_replicas() -> None:
    pool = StockPool(metadata=META, spec=StockPoolSpec(spec_name="g1.1", replicas=3))
    assert StockPoolViewSchema().dump(pool) == {
        "name": "a",
        "namespace": "n",
        "uid": "u",
        "specName": "g1.1",
        "gpu": 0,
        "gpuResource": "nvidia.com/gpu",
        "replicas": 3,
        "currentReplicas": 0,
        "available": 0,
        "allocated": 0,
        "createdAt": "2026-11-16T04:40:00Z",
    }


def test_the_view_of_a_spec_omits_an_unknown_capacity() -> None:
    summary = SpecSummary(resources=UnitResources(spec_name="g1.1", memory="1Gi"), available=0)
    assert SpecViewSchema().dump(summary) == {
        "specName": "g1.1",
        "memory": "1Gi",
        "gpu": 0,
        "gpuResource": "nvidia.com/gpu",
        "available": 0,
    }


def test_the_last_page_has_no_continue_token() -> None:
    assert PageMetaSchema().dump(Page(())) == {}
    assert PageMetaSchema().dump(Page((), "t", 5)) == {"continue": "t", "remaining": 5}
