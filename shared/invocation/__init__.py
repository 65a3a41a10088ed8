"""One invocation of a function: its record, its messages, and where the queue keeps them."""
