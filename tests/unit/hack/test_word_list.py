"""The check of confusing words, on short texts."""

import pytest

from hack.word_list import find_words


def words(text: str) -> list[str]:
    return [word for _, word, _ in find_words(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Nobody reads the record.",
        "def test_a_call_that_nobody_reads() -> None: ...",
        "three attempts came to nothing",
        "PATIENCE = 5.0",
        "LONGEST_WAIT_SECONDS = 5.0",
        "names = [name for each in tasks]",
    ],
)
def test_a_listed_word_is_reported_in_prose_and_in_names(text: str) -> None:
    assert len(words(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "workqueue_longest_running_processor_seconds",
        "longest_running_seconds = max(times)",
        "NOBODY = 65534",
        'pwd.getpwnam("nobody")',
        "the user `nobody`",
        "unhitched and forever",
    ],
)
def test_prescribed_names_and_parts_of_words_are_not_reported(text: str) -> None:
    assert words(text) == []


def test_a_listed_word_is_reported_with_its_line_and_advice() -> None:
    assert list(find_words("first\nsend it anew\n")) == [(2, "anew", "'again', or 'recreated'")]
