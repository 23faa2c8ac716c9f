"""What a pod's control groups are told."""
