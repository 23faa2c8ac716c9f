"""``cpuctl report``: all that is known of a node, on one page."""
