"""What tests are built on: clusters, builders of objects, faults, clocks, clients, and waiting."""
