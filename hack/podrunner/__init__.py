"""A kubelet for development: runs the worker and the framework of serverless pods as processes.

The nodes of the local cluster are simulated, so pods have no processes. Those whose image is
`local/<something>` get some here; `docs/local-cluster.md` says which.
"""
