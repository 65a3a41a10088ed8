"""How a test run is carried out."""
