"""Controller of operations: deletes them after their retention."""
