"""The sidecar of a worker pod: runs the invocations of one function and records the outcomes."""
