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
                "Ready stock",
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
                "Finished operations by outcome",
                "ops",
                "sum by (type, outcome) (rate(gpuruntime_operations_total[5m]))",
                "{{type}} {{outcome}}",
            ),
            Panel(
                "Duration, 99th percentile",
                "s",
                p99("gpuruntime_operation_duration_seconds", "type"),
                "{{type}}",
            ),
            Panel(
                "Longest time without progress",
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
                "Duration of writes, 99th percentile",
                "s",
                p99(
                    "gpuruntime_http_request_duration_seconds", "route", NON_WAITING_WRITES_SELECTOR
                ),
                "{{route}}",
            ),
            Panel("Requests in flight", "short", "sum(gpuruntime_http_in_flight)", "requests"),
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
                "Duration of reconciles, 99th percentile",
                "s",
                p99(
                    "controller_runtime_reconcile_time_seconds",
                    "controller",
                    f"{{{PRODUCT_SELECTOR}}}",
                ),
                "{{controller}}",
            ),
            Panel(
                "Depth of work queues",
                "short",
                f"sum by (name) (workqueue_depth{{{PRODUCT_SELECTOR}}})",
                "{{name}}",
            ),
            Panel(
                "Requests to Kubernetes by status code",
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
                "Queued invocations",
                "short",
                "max by (function) (gpuruntime_function_queue_depth)",
                "{{function}}",
            ),
            Panel(
                "Age of the oldest queued invocation",
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
                "Finished invocations by outcome",
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
                "Used space for records",
                "percentunit",
                "max(gpuruntime_invocation_records_used_ratio)",
                "used",
            ),
        ),
    ),
)
