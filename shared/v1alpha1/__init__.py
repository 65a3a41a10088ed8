"""Our custom resources, version v1alpha1."""
