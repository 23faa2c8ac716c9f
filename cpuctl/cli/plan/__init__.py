"""``cpuctl plan``: pods on a node, dry."""
