"""Handler that records its notifications as text."""

from controller.runtime.cache.subscription import ChangeNotification
from tests.support.builders.note_resource import Note
from tests.unit.controller.scripted_source import note_and_version


class RecordingHandler:
    """Handler that records each notification as a line of text."""

    def __init__(self) -> None:
        self.notifications: list[ChangeNotification[Note]] = []

    def __call__(self, notification: ChangeNotification[Note]) -> None:
        self.notifications.append(notification)

    @property
    def notification_texts(self) -> list[str]:
        return [notification_text(notification) for notification in self.notifications]


def notification_text(notification: ChangeNotification[Note]) -> str:
    backlog = " (backlog)" if notification.is_backlog else ""
    if notification.new is None:
        assert notification.old is not None
        return f"gone {note_and_version(notification.old)}{backlog}"
    if notification.old is None:
        return f"new {note_and_version(notification.new)}{backlog}"
    return (
        f"{note_and_version(notification.old)} became {note_and_version(notification.new)}{backlog}"
    )
