"""Which one change would help, each tried."""
