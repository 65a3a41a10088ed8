"""Records of operations: what is dropped of them and when."""
