"""Tests of stream limits: the queue keeps data for as long as the data is needed."""

import pytest

from serverless.activator.sweep.sweep import INTERVAL_SECONDS
from shared.config.duration import Duration
from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits, body_bucket_config, stream_configs

NAMES = QueueNames()
SECOND = 1_000_000_000


@pytest.mark.parametrize("retention", [60.0, 72 * 3600.0])
def test_a_record_outlives_the_maximum_time_to_live_by_several_sweeps(
    retention: float,
) -> None:
    limits = StreamLimits(record_retention=Duration(retention))
    configs = stream_configs(NAMES, limits)
    ages = {config["name"]: config.get("max_age", 0) for config in configs}
    age = ages[f"KV_{NAMES.record_bucket}"] / SECOND
    assert age > retention + MAX_CLOCK_SKEW_SECONDS + 10 * INTERVAL_SECONDS
    assert body_bucket_config(NAMES, limits, "fn")["max_age"] / SECOND >= 2 * age
