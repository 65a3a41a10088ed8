"""Handler that records its notifications as text."""

from controller.runtime.cache.subscription import ChangeNotification
from tests.support.builders.note_resource import Note
from tests.unit.controller.scripted_source import note_and_version


class RecordingHandler:
    """Handler that records each notification as a line of text."""

    def __init__(self) -> None:
        self.notices: list[ChangeNotification[Note]] = []

    def __call__(self, notice: ChangeNotification[Note]) -> None:
        self.notices.append(notice)

    @property
    def notice_texts(self) -> list[str]:
        return [notice_text(notice) for notice in self.notices]


def notice_text(notice: ChangeNotification[Note]) -> str:
    backlog = " (backlog)" if notice.is_backlog else ""
    if notice.new is None:
        assert notice.old is not None
        return f"gone {note_and_version(notice.old)}{backlog}"
    if notice.old is None:
        return f"new {note_and_version(notice.new)}{backlog}"
    return f"{note_and_version(notice.old)} became {note_and_version(notice.new)}{backlog}"
