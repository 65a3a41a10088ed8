"""The error of the local cluster."""


class ClusterError(Exception):
    """A failure to set up the local cluster, with a message that says what to do."""
