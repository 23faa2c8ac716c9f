"""Settings that are legal in a configuration but do not do what they seem to."""
