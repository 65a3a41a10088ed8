"""The code that tests share: clusters, builders, checks, faults, clocks, clients and waiting."""
