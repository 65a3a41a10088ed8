"""Generators of checked-in files, which therefore always agree with the code."""
