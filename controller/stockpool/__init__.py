"""StockPools: stock that looks after itself."""
