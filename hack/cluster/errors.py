"""What can go wrong while a cluster is brought up, each with a message that says what to do."""


class ClusterError(Exception):
    """Bringing up the local cluster failed; the text is for the person who asked for it."""
