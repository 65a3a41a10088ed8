"""Size limits that all serverless programs enforce."""

from typing import Final

DEFAULT_INLINE_BYTES: Final = 256 * 1024
MIN_INLINE_BYTES: Final = 1024
MAX_PAYLOAD_BYTES: Final = 64 * 1024 * 1024
MAX_HEADERS: Final = 100
MAX_HEADER_BYTES: Final = 4 * 1024
MAX_ATTRIBUTE_BYTES: Final = 4 * 1024
MAX_CLOCK_SKEW_SECONDS: Final = 5
ACK_WAIT_SECONDS: Final = 30
HEARTBEAT_INTERVAL_SECONDS: Final = 10
