"""Stores outcomes in PostgreSQL for longer than NATS keeps them."""
