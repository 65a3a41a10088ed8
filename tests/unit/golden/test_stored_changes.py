"""Changes and deletions as release 0.1.0 (commit 0e22fbe) wrote them for HTTP requests.

That release made the data file. It has requests and the writes for them.
"""

import pytest

from tests.unit.golden.data import Case, cases
from tests.unit.golden.recorded_api import asked


@pytest.mark.parametrize("case", cases("changes", "requests"))
async def test_a_change_sends_the_patch_of_the_release(case: Case) -> None:
    assert await asked(case.given) == case.made
