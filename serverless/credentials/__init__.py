"""Creates the passwords of the NATS users, once in a cluster."""
