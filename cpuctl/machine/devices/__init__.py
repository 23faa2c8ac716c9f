"""What device plugins have on a node."""
