"""The NATS permissions of the workers of one function."""

from serverless.activator.auth.worker_credentials import WorkerUser
from shared.invocation.queue_names import QueueNames, consumer_name


def publish_subjects(user: WorkerUser, queue_names: QueueNames) -> list[str]:
    """Return subjects to pull, acknowledge, write records and reports, and publish outcomes."""
    function_name, consumer = user.function_name, consumer_name(user.function_name)
    stream, bodies = queue_names.invocations_stream, queue_names.body_bucket_name(function_name)
    records = queue_names.record_subject(function_name)
    return [
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}",
        f"$JS.ACK.{stream}.{consumer}.>",
        f"{records}.*",
        f"$JS.API.DIRECT.GET.KV_{queue_names.record_bucket}.{records}.>",
        f"$KV.{queue_names.worker_bucket}.{function_name}.*",
        queue_names.result_subject(function_name),
        queue_names.dead_letter_subject(function_name),
        f"$O.{bodies}.C.>",
        f"$O.{bodies}.M.>",
        f"$JS.API.DIRECT.GET.OBJ_{bodies}",
        f"$JS.API.DIRECT.GET.OBJ_{bodies}.>",
    ]


def subscribe_subjects(user: WorkerUser, queue_names: QueueNames) -> list[str]:
    """Return the subjects of its replies and of cancelled invocations."""
    return [f"{user.inbox_prefix}.>", queue_names.cancellation_subject(user.function_name)]
