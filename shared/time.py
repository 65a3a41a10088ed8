"""A moment as records and messages hold it."""

from typing import Annotated, Final

from msgspec import Meta

MAX_MILLISECONDS: Final = 253_402_300_799_999  # the end of the year 9999: no calendar goes on

# Milliseconds since 1970, 0 for never. What is no moment cannot be shown, so it is not read:
# workers write records, and one of them must not spoil the lists of all.
UnixMilliseconds = Annotated[int, Meta(ge=0, le=MAX_MILLISECONDS)]
