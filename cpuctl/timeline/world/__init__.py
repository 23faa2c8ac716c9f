"""The state of a replay at one moment: pods, files, the running kubelet, and the history so far."""
