"""The If-Match header: revisions of objects as callers send them."""

import re
from typing import Final

from aiohttp import hdrs, web

from apiserver.errors import ErrorDetail, InvalidRequestError
from apiserver.kube.resources import Revision

_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAG_LIST: Final = re.compile(rf"{_TAG}(?:[ \t]*,[ \t]*{_TAG})*")
_TAG_PATTERN: Final = re.compile(_TAG)
_OWN_TAG: Final = re.compile(r'"([^."]+)\.([0-9]{1,18})"', re.ASCII)


def parse_if_match(request: web.Request) -> tuple[Revision, ...] | None:
    """Return the revisions that If-Match allows, possibly none; None allows any revision.

    Raises InvalidRequestError.
    """
    header = ",".join(request.headers.getall(hdrs.IF_MATCH, ())).strip()
    if header in ("", "*"):
        return None
    if not _TAG_LIST.fullmatch(header):
        raise InvalidRequestError(
            "the header If-Match is invalid",
            details=(ErrorDetail("header.If-Match", 'must be * or ETags such as "a.1", "a.2"'),),
        )
    # A weak tag never matches If-Match (RFC 9110, 13.1.1), a foreign tag none of our objects.
    matches = filter(None, map(_OWN_TAG.fullmatch, _TAG_PATTERN.findall(header)))
    return tuple(Revision(match[1], int(match[2])) for match in matches)
