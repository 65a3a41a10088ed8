"""The invocation of a function: its record, its messages, and the names in the queue."""
