"""Tests of ETags: they consist of uid and generation; If-Match is parsed as in RFC 9110."""

import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from apiserver.errors import InvalidRequestError
from apiserver.http.etag import parse_if_match
from apiserver.kube.resources import Revision
from shared.etag import make_etag
from shared.k8s.meta import ObjectMeta


def parse_headers(*headers: str) -> tuple[Revision, ...] | None:
    pairs = CIMultiDict(("If-Match", header) for header in headers)
    return parse_if_match(make_mocked_request("PUT", "/", headers=pairs))


def test_an_etag_consists_of_uid_and_generation() -> None:
    assert make_etag(ObjectMeta(uid="u-1", generation=3, resource_version="77")) == '"u-1.3"'


@pytest.mark.parametrize(
    ("headers", "revisions"),
    [
        ((), None),
        (("*",), None),
        (('"u-1.3"',), (Revision("u-1", 3),)),
        (('"u-1.3" , "u-2.4"',), (Revision("u-1", 3), Revision("u-2", 4))),
        (('"u-1.3"', '"u-2.4"'), (Revision("u-1", 3), Revision("u-2", 4))),
        (('W/"u-1.3"',), ()),
        (('W/"u-1.3", "u-1.4"',), (Revision("u-1", 4),)),
        (('"a-foreign-tag"',), ()),
        (('""',), ()),
        (('"a,b.1"',), (Revision("a,b", 1),)),
    ],
)
def test_if_match_is_parsed_into_revisions(
    headers: tuple[str, ...], revisions: tuple[Revision, ...] | None
) -> None:
    assert parse_headers(*headers) == revisions


@pytest.mark.parametrize("header", ["u-1.3", '"u-1.3', '"a" "b"', '*, "a"', '"a",,"b"', "w/'a'"])
def test_an_invalid_if_match_is_refused(header: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_headers(header)
    assert caught.value.details[0].field == "header.If-Match"


def test_an_etag_is_parsed_into_the_revision_of_its_object() -> None:
    metadata = ObjectMeta(uid="0b6f0a52-61a5-4a8e-9f0c-2f3c5f0f7a10", generation=12)
    assert parse_headers(make_etag(metadata)) == (Revision(metadata.uid, 12),)
