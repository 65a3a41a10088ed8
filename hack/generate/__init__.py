"""Generators of checked-in files, which so always agree with the code."""
