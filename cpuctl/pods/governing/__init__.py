"""What holds for all pods of a namespace."""
