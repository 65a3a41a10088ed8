"""Tests of stock pools: decisions and statuses as values."""
