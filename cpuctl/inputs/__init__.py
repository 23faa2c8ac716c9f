"""Machine, kubelet, pods and state as somebody names them, with the origin of each."""
