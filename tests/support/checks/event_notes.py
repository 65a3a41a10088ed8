"""The notes of Kubernetes Events."""

from hack.cluster.admin_client import AdminClient


async def event_notes(admin: AdminClient, namespace: str, reason: str) -> list[str]:
    """Return the notes of the Events with that reason."""
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    events = (await admin.get(path))["items"]
    return [event["note"] for event in events if event["reason"] == reason]
