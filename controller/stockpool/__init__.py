"""Controller of StockPools, which keep their number of stock units."""
