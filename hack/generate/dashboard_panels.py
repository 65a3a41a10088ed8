"""The panels of the dashboard, row by row."""

from dataclasses import dataclass

PRODUCT_SELECTOR = 'namespace="runtime-system"'


@dataclass(frozen=True)
class Panel:
    """One graph: its title, its unit, and an expression with the legend of its lines."""

    title: str
    unit: str
    expression: str
    legend: str = ""


@dataclass(frozen=True)
class Row:
    """A titled group of graphs."""

    title: str
    panels: tuple[Panel, ...]


def p99(metric: str, label: str, selector: str = "") -> str:
    """Return the expression of a histogram's 99th percentile."""
    return f"histogram_quantile(0.99, sum by (le, {label}) (rate({metric}_bucket{selector}[5m])))"


# Reads and invocations may wait as long as their caller wants.
NON_WAITING_WRITES_SELECTOR = '{method!="GET", route!~".*/(invocations|invoke)"}'

DASHBOARD_ROWS = (
    Row(
        "Machines",
        (
            Panel(
                "Stock that is ready",
                "short",
                'sum by (spec) (gpuruntime_units{role="stock", phase="Ready"})',
                "{{spec}}",
            ),
            Panel(
                "Stock by phase",
                "short",
                'sum by (phase) (gpuruntime_units{role="stock"})',
                "{{phase}}",
            ),
            Panel(
                "Users' units by phase",
                "short",
                'sum by (phase) (gpuruntime_units{role="active"})',
                "{{phase}}",
            ),
        ),
    ),
    Row(
        "Operations",
        (
            Panel(
                "Ended, by outcome",
                "ops",
                "sum by (type, outcome) (rate(gpuruntime_operations_total[5m]))",
                "{{type}} {{outcome}}",
            ),
            Panel(
                "Time of one in a hundred",
                "s",
                p99("gpuruntime_operation_duration_seconds", "type"),
                "{{type}}",
            ),
            Panel(
                "Longest without progress",
                "s",
                "max by (type) (gpuruntime_operation_stalled_seconds)",
                "{{type}}",
            ),
        ),
    ),
    Row(
        "Runtime API",
        (
            Panel(
                "Requests by status",
                "reqps",
                "sum by (status) (rate(gpuruntime_http_requests_total[5m]))",
                "{{status}}",
            ),
            Panel(
                "Time of one in a hundred writes",
                "s",
                p99(
                    "gpuruntime_http_request_duration_seconds", "route", NON_WAITING_WRITES_SELECTOR
                ),
                "{{route}}",
            ),
            Panel("In flight", "short", "sum(gpuruntime_http_in_flight)", "requests"),
        ),
    ),
    Row(
        "Controller",
        (
            Panel(
                "Leaders",
                "short",
                f"sum by (name) (leader_election_master_status{{{PRODUCT_SELECTOR}}})",
                "{{name}}",
            ),
            Panel(
                "Reconciles by result",
                "ops",
                "sum by (controller, result) "
                f"(rate(controller_runtime_reconcile_total{{{PRODUCT_SELECTOR}}}[5m]))",
                "{{controller}} {{result}}",
            ),
            Panel(
                "Time of one in a hundred reconciles",
                "s",
                p99(
                    "controller_runtime_reconcile_time_seconds",
                    "controller",
                    f"{{{PRODUCT_SELECTOR}}}",
                ),
                "{{controller}}",
            ),
            Panel(
                "Waiting in work queues",
                "short",
                f"sum by (name) (workqueue_depth{{{PRODUCT_SELECTOR}}})",
                "{{name}}",
            ),
            Panel(
                "Calls to Kubernetes by code",
                "reqps",
                f"sum by (code) (rate(rest_client_requests_total{{{PRODUCT_SELECTOR}}}[5m]))",
                "{{code}}",
            ),
            Panel(
                "Memory",
                "bytes",
                f"process_resident_memory_bytes{{{PRODUCT_SELECTOR}}}",
                "{{pod}}",
            ),
        ),
    ),
    Row(
        "Functions",
        (
            Panel(
                "Invocations that wait",
                "short",
                "max by (function) (gpuruntime_function_queue_depth)",
                "{{function}}",
            ),
            Panel(
                "Oldest that waits",
                "s",
                "max by (function) (gpuruntime_function_oldest_seconds)",
                "{{function}}",
            ),
            Panel(
                "Workers by state",
                "short",
                "max by (function, state) (gpuruntime_function_workers)",
                "{{function}} {{state}}",
            ),
            Panel(
                "Finished by outcome",
                "ops",
                "sum by (function, outcome) (rate(gpuruntime_invocations_finished_total[5m]))",
                "{{function}} {{outcome}}",
            ),
            Panel(
                "Dead letters",
                "short",
                "max by (function) (gpuruntime_dead_letters)",
                "{{function}}",
            ),
            Panel(
                "Room for records that is taken",
                "percentunit",
                "max(gpuruntime_invocation_records_used_ratio)",
                "taken",
            ),
        ),
    ),
)
