"""The kubelet's control groups: where they are, what they say, and how their CPU sets are changed."""
