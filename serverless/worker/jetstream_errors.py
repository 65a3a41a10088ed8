"""What can be wrong with the queue, by what it means for a worker."""


class QueueError(Exception):
    """The queue did not do it, or did not say that it did; later it may."""


class StreamLimitError(QueueError):
    """The stream holds as much as it may; something smaller may still find room."""


class RevisionConflictError(QueueError):
    """Somebody else has changed the record, or an earlier try of ours has."""
