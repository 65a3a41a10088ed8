"""The queue as the activator and the result store speak to it: one connection, raw requests."""
