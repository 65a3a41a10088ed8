"""Controller of operations: deletes them after the time in which replays may come."""
