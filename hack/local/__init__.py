"""The commands behind `make up`, `make down`, `make status` and `make logs`."""
