"""The `continue` of lists as release 0.1.0 (commit 0e22fbe) gave it to callers.

That release made the data file. A caller goes on with it at whatever replica answers next.
"""

from dataclasses import astuple

import pytest

from apiserver.invocations import archive_reader, lists
from apiserver.invocations.archive import ArchivePlace
from tests.unit.golden.data import Case, cases


@pytest.mark.parametrize("case", cases("continue_tokens", "queue"))
def test_a_token_of_the_queue_names_its_place(case: Case) -> None:
    assert lists.token_of(case.given) == case.made
    assert lists.place_of(case.made) == case.given
    assert not archive_reader.is_of_archive(case.made)


@pytest.mark.parametrize("case", cases("continue_tokens", "archive"))
def test_a_token_of_the_archive_names_its_place(case: Case) -> None:
    place = ArchivePlace(*case.given)

    assert archive_reader.token_of(place) == case.made
    assert astuple(archive_reader.place_of(case.made)) == astuple(place)
    assert archive_reader.is_of_archive(case.made)
