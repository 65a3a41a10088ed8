"""Controller of GPUStorages."""
