"""What the workers of one function may do at the queue, and nothing else."""

from serverless.activator.auth.worker_credentials import WorkerUser
from shared.invocation.queue_names import QueueNames, consumer_name


def publish_subjects(user: WorkerUser, queue_names: QueueNames) -> list[str]:
    """Take and acknowledge its messages, write its records and reports, tell its outcomes."""
    request_id, consumer = user.function_name, consumer_name(user.function_name)
    stream, bodies = queue_names.invocations_stream, queue_names.body_bucket_name(request_id)
    records = queue_names.record_subject(request_id)
    return [
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}",
        f"$JS.ACK.{stream}.{consumer}.>",
        f"{records}.*",
        f"$JS.API.DIRECT.GET.KV_{queue_names.record_bucket}.{records}.>",
        f"$KV.{queue_names.worker_bucket}.{request_id}.*",
        queue_names.result_subject(request_id),
        queue_names.dead_letter_subject(request_id),
        f"$O.{bodies}.C.>",
        f"$O.{bodies}.M.>",
        f"$JS.API.DIRECT.GET.OBJ_{bodies}",
        f"$JS.API.DIRECT.GET.OBJ_{bodies}.>",
    ]


def subscribe_subjects(user: WorkerUser, queue_names: QueueNames) -> list[str]:
    """Hear its own answers, and of cancelled invocations."""
    return [f"{user.inbox_prefix}.>", queue_names.cancellation_subject(user.function_name)]
