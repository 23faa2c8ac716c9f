"""What a kubelet checks before it starts."""
