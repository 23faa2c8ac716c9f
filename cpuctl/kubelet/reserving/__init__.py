"""What a node keeps from pods."""
