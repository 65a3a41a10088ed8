"""What a handler was told, in words."""

from controller.runtime.cache.subscription import Notice
from tests.support.builders.note_resource import Note
from tests.unit.controller.scripted_source import named


class Told:
    """A handler that writes down its notices."""

    def __init__(self) -> None:
        self.notices: list[Notice[Note]] = []

    def __call__(self, notice: Notice[Note]) -> None:
        self.notices.append(notice)

    @property
    def words(self) -> list[str]:
        return [in_words(notice) for notice in self.notices]


def in_words(notice: Notice[Note]) -> str:
    backlog = " (backlog)" if notice.backlog else ""
    if notice.new is None:
        assert notice.old is not None
        return f"gone {named(notice.old)}{backlog}"
    if notice.old is None:
        return f"new {named(notice.new)}{backlog}"
    return f"{named(notice.old)} became {named(notice.new)}{backlog}"
