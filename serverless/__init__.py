"""Functions: the activator, the worker sidecar, the framework of user code and the result store."""
