"""The error of the local cluster."""


class ClusterError(Exception):
    """A failure to set up the local cluster; the message contains the advice."""
