"""The kubelet's control groups: where they are, what they say, and whose they are."""
