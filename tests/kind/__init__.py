"""Tests on a real kubelet, where there is a Docker engine."""
