"""Events as people see them."""

from hack.cluster.admin_client import Admin


async def told(admin: Admin, namespace: str, reason: str) -> list[str]:
    """The notes of the Events with that reason."""
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    events = (await admin.get(path))["items"]
    return [event["note"] for event in events if event["reason"] == reason]
