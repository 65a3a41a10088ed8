"""Makes the passwords of the queue's users, once a cluster."""
