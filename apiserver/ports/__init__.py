"""What handlers need of the use cases; they raise ServiceError and ClusterError only."""
