"""The kubelet's state files: whether it starts on them, and changes that it starts on."""
