"""The kubelet of the recorded node."""
