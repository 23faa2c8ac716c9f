"""How kubelet releases differ."""
