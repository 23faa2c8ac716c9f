"""Where several commands get their machine, kubelet, pods and state from."""
