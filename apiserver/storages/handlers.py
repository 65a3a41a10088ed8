"""The routes of storages."""

from dataclasses import replace
from typing import Final

from aiohttp import hdrs, web

from apiserver.http import failure_examples, keys, paths
from apiserver.http import responses as http_responses
from apiserver.http.body import read_json_body
from apiserver.http.etag import parse_if_match
from apiserver.http.openapi import JsonBodyDoc, ResponseDoc, documented
from apiserver.http.path_parameters import name_parameter, path_name
from apiserver.http.query import read_query, require_no_query
from apiserver.operations import responses as operations_responses
from apiserver.operations.schemas import JobAnswerSchema
from apiserver.schemas.response import PageMetaSchema
from apiserver.storages import examples
from apiserver.storages.schemas import (
    ChangeStorageSchema,
    CreateStorageSchema,
    GPUStorageAnswerSchema,
    GPUStorageListAnswerSchema,
    GPUStorageViewSchema,
    StoragesQuerySchema,
)
from apiserver.storages.service import StorageService
from shared.etag import make_etag
from shared.v1alpha1.gpustorage import GPUStorage

STORAGES: Final = web.AppKey("storages", StorageService)

_TAG: Final = "gpu storages"
_NAME_PARAMETER: Final = name_parameter("storage", "data")
_VIEW_SCHEMA: Final = GPUStorageViewSchema()


@documented(
    _TAG,
    "Create a storage, whose files outlive the units that mount it",
    ResponseDoc(201, "Created.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.LOCATION,)),
    ResponseDoc(
        200,
        "An earlier request created the storage; `deleted` is true if it no longer exists.",
        GPUStorageAnswerSchema,
        examples.STORAGE,
        (hdrs.LOCATION,),
    ),
    ResponseDoc(
        202,
        "Not finished yet; `Location` is the path of the job.",
        JobAnswerSchema,
        examples.JOB,
        (hdrs.LOCATION,),
    ),
    *failure_examples.BODY_FAILURES,
    failure_examples.OPERATION_CONFLICT,
    failure_examples.ALREADY_EXISTS,
    failure_examples.CONFLICT,
    *failure_examples.CLUSTER_FAILURES,
    body=JsonBodyDoc(CreateStorageSchema(), examples.CREATE),
)
async def create_storage(request: web.Request) -> web.Response:
    """Create a storage."""
    service = keys.required_service(request, STORAGES)
    command = await read_json_body(request, CreateStorageSchema())
    result = await request.app[keys.BACKGROUND_TASKS].finish(service.create(command))
    return operations_responses.created(result, _VIEW_SCHEMA, paths.storage_path(command.name))


@documented(
    _TAG,
    "List storages",
    ResponseDoc(200, "One page of the list.", GPUStorageListAnswerSchema, examples.STORAGES),
    failure_examples.BAD_QUERY,
    failure_examples.CONTINUE_EXPIRED,
    *failure_examples.CLUSTER_FAILURES,
    query=StoragesQuerySchema(),
)
async def list_storages(request: web.Request) -> web.Response:
    """Return one page of the storages."""
    service = keys.required_service(request, STORAGES)
    page = await service.list(read_query(request, StoragesQuerySchema()))
    return http_responses.page(
        _VIEW_SCHEMA.dump(page.items, many=True), PageMetaSchema().dump(page)
    )


@documented(
    _TAG,
    "Show one storage",
    ResponseDoc(200, "The storage.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.ETAG,)),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
)
async def get_storage(request: web.Request) -> web.Response:
    """Return a storage."""
    service, name = keys.required_service(request, STORAGES), path_name(request)
    require_no_query(request)
    return _storage_response(await service.get(name))


@documented(
    _TAG,
    "Change the size, the accessor or the labels of a storage",
    ResponseDoc(
        200, "The changed storage.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.ETAG,)
    ),
    *failure_examples.BODY_FAILURES,
    failure_examples.NOT_FOUND,
    examples.CANNOT_GROW,
    failure_examples.PRECONDITION_FAILED,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
    body=JsonBodyDoc(ChangeStorageSchema(), examples.CHANGE),
    conditional=True,
)
async def change_storage(request: web.Request) -> web.Response:
    """Change the given fields of a storage."""
    service, name = keys.required_service(request, STORAGES), path_name(request)
    changes = await read_json_body(request, ChangeStorageSchema())
    command = replace(changes, name=name, if_match=parse_if_match(request))
    return _storage_response(
        await request.app[keys.BACKGROUND_TASKS].finish(service.change(command))
    )


@documented(
    _TAG,
    "Delete a storage and its files",
    ResponseDoc(204, "It is deleted, or being deleted."),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.MOUNTED,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
)
async def delete_storage(request: web.Request) -> web.Response:
    """Delete a storage."""
    service, name = keys.required_service(request, STORAGES), path_name(request)
    require_no_query(request)
    await request.app[keys.BACKGROUND_TASKS].finish(service.delete(name))
    return http_responses.no_content()


@documented(
    _TAG,
    "Start another prepare of a storage after a failed one",
    ResponseDoc(
        202, "Another prepare is requested.", GPUStorageAnswerSchema, examples.STORAGE, (hdrs.ETAG,)
    ),
    failure_examples.BAD_QUERY,
    failure_examples.NOT_FOUND,
    examples.PREPARE_NOT_FAILED,
    *failure_examples.CLUSTER_FAILURES,
    path=_NAME_PARAMETER,
)
async def recover_storage(request: web.Request) -> web.Response:
    """Request another prepare of a storage."""
    service, name = keys.required_service(request, STORAGES), path_name(request)
    require_no_query(request)
    return _storage_response(
        await request.app[keys.BACKGROUND_TASKS].finish(service.recover(name)), 202
    )


def _storage_response(storage: GPUStorage, status: int = 200) -> web.Response:
    headers = {hdrs.ETAG: make_etag(storage.metadata)}
    return http_responses.success(_VIEW_SCHEMA.dump(storage), status=status, headers=headers)
