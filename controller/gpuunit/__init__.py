"""GPUUnits: what a unit is reconciled to."""
