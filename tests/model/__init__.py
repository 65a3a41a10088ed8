"""A small deterministic model of the API server, on which thousands of schedules are tried."""
