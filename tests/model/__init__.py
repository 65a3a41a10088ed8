"""A small deterministic model of the API server, for thousands of schedules."""
