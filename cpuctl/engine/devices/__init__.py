"""The device manager: what device plugins have, and who gets it."""
