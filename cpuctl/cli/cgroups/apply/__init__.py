"""What is wanted, whether it may be, the writes, and the log to undo them by."""
