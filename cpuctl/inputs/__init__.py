"""Machine, kubelet, pods and state as specified on the command line, with the origin of each."""
