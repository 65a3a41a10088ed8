"""What handlers need of the use cases; every method raises ServiceError and nothing else."""
