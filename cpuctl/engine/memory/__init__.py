"""The Memory Manager: tables, hints, allocation, and what a restart accepts."""
