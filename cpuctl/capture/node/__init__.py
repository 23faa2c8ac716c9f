"""What is kept of a node's files."""
