"""GPUStorages: what a storage is reconciled to."""
