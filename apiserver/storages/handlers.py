"""The routes of storages."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_body
from apiserver.http.etag import if_match
from apiserver.http.openapi import Answer, Body, documented
from apiserver.http.path_parameters import named, path_name
from apiserver.http.query import read_query, require_known
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.queries import StoragesQuerySchema
from apiserver.schemas.response import PageMetaSchema
from apiserver.storages import examples
from apiserver.storages.schemas import (
    ChangeStorageSchema,
    CreateStorageSchema,
    GPUStorageAnswerSchema,
    GPUStorageListAnswerSchema,
    GPUStorageViewSchema,
)
from shared.etag import etag
from shared.v1alpha1.gpustorage import GPUStorage

_TAG: Final = "gpu storages"
_NAME: Final = named("storage", "data")
_VIEW: Final = GPUStorageViewSchema()


@documented(
    _TAG,
    "Make a storage, whose files outlive the units that use them",
    Answer(201, "Made.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its storage is gone since.",
        GPUStorageAnswerSchema,
        examples.STORAGE,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, examples.JOB, (hdrs.LOCATION,)),
    *failure_examples.BODY,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.ALREADY_EXISTS,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER,
    body=Body(CreateStorageSchema(), examples.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a storage."""
    service = keys.service(request, keys.STORAGES)
    command = await read_body(request, CreateStorageSchema())
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return operations_responses.made(accepted, _VIEW, paths.storage(command.name))


@documented(
    _TAG,
    "List storages",
    Answer(200, "A part of the list.", GPUStorageListAnswerSchema, examples.STORAGES),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER,
    query=StoragesQuerySchema(),
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the storages."""
    service = keys.service(request, keys.STORAGES)
    page = await service.list(read_query(request, StoragesQuerySchema()))
    return http_responses.page(_VIEW.dump(page.items, many=True), PageMetaSchema().dump(page))


@documented(
    _TAG,
    "Show one storage",
    Answer(200, "The storage.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER,
    path=_NAME,
)
async def show(request: web.Request) -> web.Response:
    """Show a storage."""
    service, name = keys.service(request, keys.STORAGES), path_name(request)
    require_known(request)
    return _storage(await service.get(name))


@documented(
    _TAG,
    "Change a storage: its size, its browsing, its labels",
    Answer(
        200, "The storage as it is now.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.ETAG,)
    ),
    *failure_examples.BODY,
    failure_examples.NOT_FOUND,
    examples.CANNOT_GROW,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER,
    path=_NAME,
    body=Body(ChangeStorageSchema(), examples.CHANGE),
    conditional=True,
)
async def change(request: web.Request) -> web.Response:
    """Change what the request names of a storage."""
    service, name = keys.service(request, keys.STORAGES), path_name(request)
    given = await read_body(request, ChangeStorageSchema())
    command = replace(given, name=name, if_match=if_match(request))
    return _storage(await request.app[keys.DETACHED].finish(service.change(command)))


@documented(
    _TAG,
    "Delete a storage and its files",
    Answer(204, "It is gone, or on its way."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.MOUNTED,
    *failure_examples.CLUSTER,
    path=_NAME,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a storage."""
    service, name = keys.service(request, keys.STORAGES), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name))
    return http_responses.nothing()


@documented(
    _TAG,
    "Prepare a storage again after a failure",
    Answer(202, "It will be.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.NOT_FAILED,
    *failure_examples.CLUSTER,
    path=_NAME,
)
async def recover(request: web.Request) -> web.Response:
    """Have a storage prepared again."""
    service, name = keys.service(request, keys.STORAGES), path_name(request)
    require_known(request)
    return _storage(await request.app[keys.DETACHED].finish(service.recover(name)), 202)


def _storage(storage: GPUStorage, status: int = 200) -> web.Response:
    headers = {hdrs.ETAG: etag(storage.metadata)}
    return http_responses.success(_VIEW.dump(storage), status=status, headers=headers)
