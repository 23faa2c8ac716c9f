"""``cpuctl resize``: an in-place resize, dry."""
