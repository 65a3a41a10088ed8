"""Tests on a real kubelet, where a Docker engine is available."""
