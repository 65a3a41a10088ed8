"""What user code imports to answer invocations."""
