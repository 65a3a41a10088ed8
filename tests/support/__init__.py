"""What tests stand on: a real control plane, our processes on it, faults, and waiting."""
