"""Tests of the request hash: requests with the same meaning are the same, in any notation."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from apiserver.operations.request_hash import normalised_fields, request_hash
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from apiserver.stock_units.commands import SeedStock
from apiserver.storages.commands import CreateStorage
from apiserver.units.commands import CreateUnit
from shared.v1alpha1.template import EnvVar, WorkloadTemplate

UNIT = CreateUnit(operation_id="a", name="mine", spec_name="g1.1", image="a:1")


def test_the_hash_carries_its_version() -> None:
    assert request_hash(UNIT).startswith("v1:")


def test_the_operation_id_does_not_change_the_hash() -> None:
    other = CreateUnit(operation_id="b", name="mine", spec_name="g1.1", image="a:1")
    assert request_hash(UNIT) == request_hash(other)


def test_empty_and_absent_fields_have_the_same_hash() -> None:
    empty = CreateUnit(
        operation_id="a",
        name="mine",
        spec_name="g1.1",
        image="a:1",
        template=WorkloadTemplate(),
        labels={},
    )
    assert request_hash(UNIT) == request_hash(empty)


def test_requests_of_different_types_have_different_hashes() -> None:
    seed = SeedStock("a", "g1.1", 1)
    pool = CreatePool("a", "g1.1", "g1.1", PoolSettings(replicas=1))
    storage = CreateStorage("a", "g1.1", "1Gi")
    assert len({request_hash(command) for command in (UNIT, seed, pool, storage)}) == 4


def test_the_hash_depends_on_the_order_of_arguments_but_not_of_labels() -> None:
    def labelled(*pairs: tuple[str, str]) -> str:
        return request_hash(
            CreateUnit(operation_id="a", name="x", spec_name="s", image="i", labels=dict(pairs))
        )

    def with_args(*args: str) -> str:
        template = WorkloadTemplate(args=args)
        return request_hash(
            CreateUnit(operation_id="a", name="x", spec_name="s", image="i", template=template)
        )

    assert labelled(("a", "1"), ("b", "2")) == labelled(("b", "2"), ("a", "1"))
    assert with_args("a", "b") != with_args("b", "a")


@given(
    st.text(min_size=1, max_size=20),
    st.lists(st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)
def test_a_recorded_request_is_decoded_to_the_same_command(
    image: str, args: list[str], labels: dict[str, str]
) -> None:
    template = WorkloadTemplate(args=tuple(args), envs=(EnvVar(name="A", value=image),))
    command = CreateUnit(
        operation_id="a", name="x", spec_name="s", image=image, template=template, labels=labels
    )
    recorded = msgspec.json.decode(msgspec.json.encode(normalised_fields(command)))
    assert msgspec.convert({**recorded, "operation_id": "a"}, CreateUnit) == command


def test_explicit_defaults_have_the_same_hash_as_absent_fields() -> None:
    seed = SeedStock("a", "s", 1, memory="1Gi")
    pool = CreatePool("a", "p", "s", PoolSettings(memory="1Gi"))
    explicit = PoolSettings(replicas=0, memory="1Gi", gpu=0, gpu_resource="nvidia.com/gpu")
    assert request_hash(seed) == request_hash(SeedStock("a", "s", 1, memory="1Gi", gpu=0))
    assert request_hash(pool) == request_hash(CreatePool("a", "p", "s", explicit))


def test_nested_fields_have_no_defaults() -> None:
    chosen = PoolSettings(memory="1Gi", node_selector={"gpu_resource": "nvidia.com/gpu"})
    plain = CreatePool("a", "p", "s", PoolSettings(memory="1Gi"))
    assert request_hash(CreatePool("a", "p", "s", chosen)) != request_hash(plain)
