"""Tests of the cluster view on the operations page."""

import msgspec

from apiserver.dashboard.functions import functions_view
from apiserver.dashboard.nodes import NodeRow, nodes_view
from apiserver.dashboard.operations import OperationRow, operations_view
from apiserver.dashboard.snapshot import ClusterSnapshot
from apiserver.dashboard.stock import PoolRow, SpecRow, pool_rows, spec_rows
from apiserver.dashboard.top_rows import MAX_MESSAGE_LENGTH, MAX_ROWS, truncate_message
from apiserver.dashboard.units import UnitRow, units_view
from apiserver.dashboard.view import dashboard_view
from tests.unit.apiserver.dashboard.snapshot_objects import (
    new_claimed_unit,
    new_function,
    new_node,
    new_operation,
    new_pool,
    new_unit,
    timestamp_at,
    with_reason,
)

MAX_PAGE_BYTES = 2**18


def test_units_are_counted_and_the_failed_and_newest_come_first() -> None:
    units = [
        new_unit("old", minute=1),
        new_unit("new", minute=9),
        new_unit("unseen", "", minute=3),
        new_unit("bad", "Failed", minute=2),
    ]
    view = units_view(units)
    assert view.states == {"Failed": 1, "Progressing": 1, "Ready": 2}
    assert [row.name for row in view.listed.rows] == ["bad", "unseen", "new", "old"]


def test_the_row_of_a_unit_has_its_node_and_its_reason() -> None:
    unit = new_unit("u", "Failed", gpu=4, node="n1", minute=5)
    view = units_view([with_reason(unit, "PodUnschedulable", "no node has 4 free GPUs")])
    assert view.listed.rows == (
        UnitRow(
            name="u",
            state="Failed",
            spec_name="g1.1",
            gpu=4,
            reason="PodUnschedulable",
            message="no node has 4 free GPUs",
            node="n1",
            created_at=timestamp_at(5),
        ),
    )


def test_failed_units_are_listed_first_in_a_truncated_list() -> None:
    many = [new_unit(f"u{number}") for number in range(MAX_ROWS + 5)]
    view = units_view([*many, new_unit("bad", "Failed")])
    assert (len(view.listed.rows), view.listed.more) == (MAX_ROWS, 6)
    assert view.listed.rows[0].name == "bad"


def test_the_view_of_a_large_cluster_is_small() -> None:
    units = tuple(
        with_reason(new_unit(f"unit-{number}", "Failed", node="n"), "PodStartupFailed", "x" * 5000)
        for number in range(5000)
    )
    nodes = tuple(new_node(f"node-{number}") for number in range(1000))
    body = msgspec.json.encode(
        dashboard_view(ClusterSnapshot(units=units, stock=units, nodes=nodes))
    )
    assert len(body) < MAX_PAGE_BYTES


def test_a_long_message_is_truncated_with_an_ellipsis() -> None:
    assert truncate_message("x" * MAX_MESSAGE_LENGTH) == "x" * MAX_MESSAGE_LENGTH
    assert truncate_message("x" * (MAX_MESSAGE_LENGTH + 1)) == "x" * (MAX_MESSAGE_LENGTH - 1) + "…"


def test_stock_is_counted_by_spec_and_state_including_empty_pools() -> None:
    stock = [
        new_unit("a"),
        new_unit("b", ""),
        new_claimed_unit("c"),
        new_claimed_unit("d", deleted=True),
        new_unit("e", "Failed", spec="g2.1", gpu=2),
    ]
    assert spec_rows(stock, [new_pool("p", spec="g9.1")]) == (
        SpecRow(spec_name="g1.1", gpu=1, states={"Claimed": 2, "Progressing": 1, "Ready": 1}),
        SpecRow(spec_name="g2.1", gpu=2, states={"Failed": 1}),
        SpecRow(spec_name="g9.1", gpu=1, states={}),
    )


def test_incomplete_pools_are_listed_first() -> None:
    pools = [
        new_pool("b"),
        new_pool("a", "ScaledToZero"),
        new_pool("d", ""),
        new_pool("c", "Degraded"),
    ]
    listed = pool_rows(pools)
    assert [(row.name, row.state) for row in listed.rows] == [
        ("c", "Degraded"),
        ("d", "Progressing"),
        ("a", "ScaledToZero"),
        ("b", "Ready"),
    ]
    assert listed.rows[-1] == PoolRow(
        name="b", spec_name="g1.1", state="Ready", wanted=1, available=1, allocated=7
    )


def test_unfinished_operations_are_listed_first_and_succeeded_ones_are_only_counted() -> None:
    operations = [
        new_operation("failed", "Failed", minute=9),
        new_operation("first", minute=1),
        new_operation("second", "Running", minute=2),
    ]
    view = operations_view(operations, succeeded=12)
    assert view.states == {"Failed": 1, "Pending": 1, "Running": 1, "Succeeded": 12}
    assert [row.operation_id for row in view.listed.rows] == ["second", "first", "failed"]
    assert view.listed.rows[1] == OperationRow(
        operation_id="first",
        type="SeedStockUnits",
        state="Pending",
        requested=3,
        created_at=timestamp_at(1),
    )


def test_the_gpus_of_a_node_are_counted_by_use() -> None:
    nodes = [new_node("a", usable=7), new_node("bare", 0, usable=0)]
    view = nodes_view(nodes, [new_unit(node="a", gpu=2)], [new_unit(node="a", gpu=4)])
    assert view.listed.rows == (NodeRow(name="a", state="Ready", active=4, stock=2, free=1, out=1),)
    assert (view.nodes, view.active, view.stock, view.free, view.out) == (2, 4, 2, 1, 1)


def test_a_gpu_of_a_unit_and_of_its_stock_unit_is_counted_once() -> None:
    view = nodes_view([new_node("a")], [new_unit(node="a", gpu=8)], [new_unit(node="a", gpu=8)])
    assert (view.active, view.stock, view.free) == (8, 0, 0)


def test_unusable_nodes_are_listed_first_and_have_no_free_gpus() -> None:
    nodes = [new_node("a"), new_node("c", cordoned=True), new_node("b", ready="Unknown")]
    view = nodes_view(nodes, [], [new_unit(node="c")])
    assert [(row.name, row.state, row.free, row.out) for row in view.listed.rows] == [
        ("b", "NotReady", 0, 8),
        ("c", "Cordoned", 0, 7),
        ("a", "Ready", 8, 0),
    ]


def test_degraded_functions_are_listed_first_and_the_queues_are_summed() -> None:
    functions = [
        new_function("idle"),
        new_function("busy", "Ready", queued=3, ready=2),
        new_function("bad", "Degraded", queued=4),
    ]
    view = functions_view(functions)
    assert [(row.name, row.state) for row in view.listed.rows] == [
        ("bad", "Degraded"),
        ("busy", "Ready"),
        ("idle", "Idle"),
    ]
    assert (view.functions, view.workers, view.queued, view.running) == (3, 2, 7, 0)
    assert (view.listed.rows[1].ready, view.listed.rows[1].wanted) == (2, 2)


def test_the_order_of_objects_does_not_change_the_view() -> None:
    units = (new_unit("a"), new_unit("b", node="n"), new_unit("c", "Failed"))
    nodes = (new_node("n"), new_node("m"))
    view = dashboard_view(ClusterSnapshot(units=units, nodes=nodes))
    assert view == dashboard_view(ClusterSnapshot(units=units[::-1], nodes=nodes[::-1]))
