"""What the API may do in Kubernetes; the manifests are generated from here."""

from typing import Final

from shared.rbac import Rule

RULES: Final = (Rule(group="", resources=("nodes",), verbs=("get", "list", "watch")),)
