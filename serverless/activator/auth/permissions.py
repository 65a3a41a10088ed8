"""What the workers of one function may do at the queue, and nothing else."""

from serverless.activator.auth.worker_credentials import WorkerUser
from shared.invocation.queue_names import QueueNames, consumer_of


def may_publish(user: WorkerUser, names: QueueNames) -> list[str]:
    """Take and acknowledge its messages, write its records and reports, tell its outcomes."""
    request_id, consumer = user.request_id, consumer_of(user.request_id)
    stream, bodies = names.invocations_stream, names.bodies_of(request_id)
    records = names.record_subject(request_id)
    return [
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}",
        f"$JS.ACK.{stream}.{consumer}.>",
        f"{records}.*",
        f"$JS.API.DIRECT.GET.KV_{names.record_bucket}.{records}.>",
        f"$KV.{names.worker_bucket}.{request_id}.*",
        names.result_subject(request_id),
        names.dead_letter_subject(request_id),
        f"$O.{bodies}.C.>",
        f"$O.{bodies}.M.>",
        f"$JS.API.DIRECT.GET.OBJ_{bodies}",
        f"$JS.API.DIRECT.GET.OBJ_{bodies}.>",
    ]


def may_subscribe(user: WorkerUser, names: QueueNames) -> list[str]:
    """Hear its own answers, and of cancelled invocations."""
    return [f"{user.inbox_prefix}.>", names.nudge_subject(user.request_id)]
