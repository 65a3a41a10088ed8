"""Scales the workers of functions, sweeps their invocations and authenticates workers at NATS."""
