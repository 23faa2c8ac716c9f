"""The parts of a picture of the node: what is expected, which threads run where, interrupts."""
