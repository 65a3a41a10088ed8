"""A real Kubernetes control plane as processes on this machine, with simulated kubelets."""
