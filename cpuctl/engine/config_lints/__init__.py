"""What is legal in a configuration but does not do what it seems to."""
