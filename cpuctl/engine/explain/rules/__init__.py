"""Which rule decided."""
