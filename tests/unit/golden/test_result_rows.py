"""The table of outcomes as release 0.1.0 (commit 0e22fbe) created and wrote it.

That release made the data file. The table of an installation is never created again, and the API
decodes its rows to the original records.
"""

from typing import Any

import pytest

from apiserver.postgres import archive
from serverless.resultstore import store
from serverless.resultstore.row import outcome_row_of
from shared.invocation import message, record
from tests.unit.golden.data import Case, cases


def stored(text: str) -> list[Any]:
    """Return the values of an outcome's row, in the order of the columns."""
    row = outcome_row_of(message.decode_outcome(text.encode()))
    return [str(value) if hasattr(value, "tzinfo") else value for value in row]


def read(columns: list[str], text: str) -> str:
    """Return the record that is read from an outcome's row, by the names of the columns."""
    values = outcome_row_of(message.decode_outcome(text.encode()))
    found = archive.outcome_from_row(dict(zip(columns, values, strict=True)))
    return record.encode_record(found.record).decode()


def statements() -> dict[str, str]:
    """Return the SQL that creates, writes and reads the table, with normalized white space."""
    given = {
        "lock": store.LOCK_SQL,
        "make": store.MIGRATION_SQL,
        "write": store.UPSERT_SQL,
        "prune": store.PRUNE_SQL,
        "find": archive.FIND_SQL,
        "list": archive.LIST_SQL,
    }
    return {name: " ".join(sql.split()) for name, sql in given.items()}


@pytest.mark.parametrize("case", cases("result_rows", "rows"))
def test_an_outcome_row_is_that_of_the_release(case: Case) -> None:
    assert stored(case.given) == case.made


@pytest.mark.parametrize("case", cases("result_rows", "records"))
def test_a_stored_outcome_row_is_read_unchanged(case: Case) -> None:
    assert read(**case.given) == case.made


@pytest.mark.parametrize("case", cases("result_rows", "statements"))
def test_the_sql_statements_are_those_of_the_release(case: Case) -> None:
    assert statements() == case.made
