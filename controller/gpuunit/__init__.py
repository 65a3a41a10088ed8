"""Controller of GPUUnits."""
