"""The test run: its folder, ports, seed, worker processes, output and the logs of failures."""
