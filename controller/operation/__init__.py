"""Records of operations: kept for as long as replays may come."""
