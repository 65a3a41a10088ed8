"""The `continue` tokens that release 0.1.0 (commit 0e22fbe) returned to callers of lists.

That release made the data file. A caller may send such a token to any replica.
"""

from dataclasses import astuple

import pytest

from apiserver.invocations import archive_reader, lists
from apiserver.invocations.archive import ArchiveCursor
from tests.unit.golden.data import Case, cases


@pytest.mark.parametrize("case", cases("continue_tokens", "queue"))
def test_a_continue_token_encodes_the_same_sequence_number(case: Case) -> None:
    assert lists.encode_token(case.given) == case.made
    assert lists.decode_token(case.made) == case.given
    assert not archive_reader.is_archive_token(case.made)


@pytest.mark.parametrize("case", cases("continue_tokens", "archive"))
def test_a_continue_token_encodes_the_same_archive_cursor(case: Case) -> None:
    place = ArchiveCursor(*case.given)

    assert archive_reader.encode_token(place) == case.made
    assert astuple(archive_reader.decode_token(case.made)) == astuple(place)
    assert archive_reader.is_archive_token(case.made)
