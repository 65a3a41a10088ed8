"""A kubelet for development: runs the worker and the framework of serverless pods as processes.

The nodes of the local cluster are simulated, so pods have no processes, except those with an image
`local/<something>`; see `docs/local-cluster.md`.
"""
