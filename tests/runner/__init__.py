"""How a test run is carried out: its folder, ports, seed, workers, output and failures' logs."""
