"""Tests of the operation controller: what it deletes of operations, and when."""
