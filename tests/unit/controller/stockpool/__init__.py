"""Pools: what they decide and say, from values alone."""
