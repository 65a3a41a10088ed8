"""The sidecar: takes invocations of one function from the queue and records their outcomes."""
