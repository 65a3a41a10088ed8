"""What `make up`, `make down`, `make status` and `make logs` do."""
