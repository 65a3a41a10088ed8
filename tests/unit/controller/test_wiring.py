"""Tests of the check of the election durations against each other at startup."""

import pytest

from controller.runtime.leader.factory import election_settings
from controller.runtime.leader.rules import ElectionSettingsError
from shared.config.duration import Duration
from shared.config.leader_election import LeaderElectionConfig


def test_the_default_election_durations_are_those_of_client_go() -> None:
    settings = election_settings(LeaderElectionConfig())
    assert (
        settings.lease_duration_seconds,
        settings.renew_deadline_seconds,
        settings.retry_period_seconds,
    ) == (15, 10, 2)


@pytest.mark.parametrize(
    ("lease", "renew", "retry", "message"),
    [
        (10, 10, 2, "the lease must be longer than the renew deadline"),
        (15, 2, 2, "the renew deadline must be above"),
        (15.5, 10, 2, "must be whole seconds"),
    ],
)
def test_election_durations_that_allow_two_leaders_are_rejected_with_the_reason(
    lease: float, renew: float, retry: float, message: str
) -> None:
    config = LeaderElectionConfig(
        lease_duration=Duration(lease),
        renew_deadline=Duration(renew),
        retry_period=Duration(retry),
    )
    with pytest.raises(ElectionSettingsError, match=f"leaderElection.*{message}"):
        election_settings(config)
