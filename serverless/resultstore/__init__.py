"""Keeps outcomes in PostgreSQL for longer than the queue does."""
