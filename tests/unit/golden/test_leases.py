"""The Lease as release 0.1.0 (commit 0e22fbe) wrote it, which a later release acquires.

That release made the data file. It has inputs and the writes for them. During an update,
processes of both releases compete for one Lease.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from controller.runtime.key import ObjectKey
from controller.runtime.leader import rules
from controller.runtime.leader.lease import LeaseLock, LeaseSpec, record_from_spec
from serverless.activator.config import Config as ActivatorConfig
from shared.config.leader_election import LeaderElectionConfig
from tests.unit.golden.data import Case, cases
from tests.unit.golden.recorded_cluster import RecordedCluster


async def held(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the writes that acquire, renew and release a Lease, and acquire an expired one."""
    cluster = RecordedCluster([], "manager")
    config = LeaderElectionConfig() if given["who"] == "controller" else activator()
    lock = LeaseLock(cluster.client, ObjectKey(config.namespace, config.name), "me_uuid")
    wanted = rules.new_lease_record(lock.identity, 15, cluster.clock.now())
    await lock.create(wanted)
    await lock.update(rules.renewed_record(wanted, wanted))
    await lock.update(rules.released_record(wanted, cluster.clock.now()))
    other = record_from_spec(msgspec.convert(given["other"], LeaseSpec))
    await lock.update(rules.successor_record(wanted, other))
    return cluster.writes


def activator() -> LeaderElectionConfig:
    return ActivatorConfig().leader_election


@pytest.mark.parametrize("case", cases("leases", "holders"))
async def test_a_lease_is_that_of_the_release(case: Case) -> None:
    assert await held(case.given) == case.made
