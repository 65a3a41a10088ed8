"""The NATS client of the activator, the result store and the worker."""
