"""The routes of storages."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver import acceptance, envelope, keys, places
from apiserver.body import read_body
from apiserver.document import Answer, Body, documented
from apiserver.etag import if_match
from apiserver.examples import failures, storages
from apiserver.handlers.path_name import named, path_name
from apiserver.query import read_query, require_known
from apiserver.schemas.answers import PageMetaSchema
from apiserver.schemas.gpu_storages import (
    ChangeStorageSchema,
    CreateStorageSchema,
    GPUStorageAnswerSchema,
    GPUStorageListAnswerSchema,
    GPUStorageViewSchema,
)
from apiserver.schemas.jobs import JobAnswerSchema
from apiserver.schemas.queries import StoragesQuerySchema
from shared.etag import etag
from shared.v1alpha1.gpustorage import GPUStorage

_TAG: Final = "gpu storages"
_NAME: Final = named("storage", "data")
_VIEW: Final = GPUStorageViewSchema()


@documented(
    _TAG,
    "Make a storage, whose files outlive the units that use them",
    Answer(201, "Made.", GPUStorageAnswerSchema, storages.STORAGE, (hdrs.LOCATION,)),
    Answer(
        200,
        "The operation was done before; `deleted` where its storage is gone since.",
        GPUStorageAnswerSchema,
        storages.STORAGE,
        (hdrs.LOCATION,),
    ),
    Answer(202, "Not finished yet: see the job.", JobAnswerSchema, storages.JOB, (hdrs.LOCATION,)),
    *failures.BODY,
    failures.OPERATION_CONFLICT,
    failures.ALREADY_EXISTS,
    failures.CONFLICT,
    *failures.CLUSTER,
    body=Body(CreateStorageSchema(), storages.CREATE),
)
async def create(request: web.Request) -> web.Response:
    """Make a storage."""
    service = keys.service(request, keys.STORAGES)
    command = await read_body(request, CreateStorageSchema())
    accepted = await request.app[keys.DETACHED].finish(service.create(command))
    return acceptance.made(accepted, _VIEW, places.storage(command.name))


@documented(
    _TAG,
    "List storages",
    Answer(200, "A part of the list.", GPUStorageListAnswerSchema, storages.STORAGES),
    failures.BAD_QUERY,
    failures.CONTINUE_EXPIRED,
    *failures.CLUSTER,
    query=StoragesQuerySchema(),
)
async def index(request: web.Request) -> web.Response:
    """Show a part of the storages."""
    service = keys.service(request, keys.STORAGES)
    page = await service.list(read_query(request, StoragesQuerySchema()))
    return envelope.page(_VIEW.dump(page.items, many=True), PageMetaSchema().dump(page))


@documented(
    _TAG,
    "Show one storage",
    Answer(200, "The storage.", GPUStorageAnswerSchema, storages.STORAGE, (hdrs.ETAG,)),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    *failures.CLUSTER,
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
        200, "The storage as it is now.", GPUStorageAnswerSchema, storages.STORAGE, (hdrs.ETAG,)
    ),
    *failures.BODY,
    failures.NOT_FOUND,
    storages.CANNOT_GROW,
    failures.PRECONDITION_FAILED,
    *failures.CLUSTER,
    path=_NAME,
    body=Body(ChangeStorageSchema(), storages.CHANGE),
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
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    storages.MOUNTED,
    *failures.CLUSTER,
    path=_NAME,
)
async def delete(request: web.Request) -> web.Response:
    """Delete a storage."""
    service, name = keys.service(request, keys.STORAGES), path_name(request)
    require_known(request)
    await request.app[keys.DETACHED].finish(service.delete(name))
    return envelope.nothing()


@documented(
    _TAG,
    "Prepare a storage again after a failure",
    Answer(202, "It will be.", GPUStorageAnswerSchema, storages.STORAGE, (hdrs.ETAG,)),
    failures.BAD_QUERY,
    failures.NOT_FOUND,
    storages.NOT_FAILED,
    *failures.CLUSTER,
    path=_NAME,
)
async def recover(request: web.Request) -> web.Response:
    """Have a storage prepared again."""
    service, name = keys.service(request, keys.STORAGES), path_name(request)
    require_known(request)
    return _storage(await request.app[keys.DETACHED].finish(service.recover(name)), 202)


def _storage(storage: GPUStorage, status: int = 200) -> web.Response:
    headers = {hdrs.ETAG: etag(storage.metadata)}
    return envelope.success(_VIEW.dump(storage), status=status, headers=headers)
