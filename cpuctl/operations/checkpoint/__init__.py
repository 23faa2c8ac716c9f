"""The kubelet's state files: whether it starts on them, and changes after which it does."""
