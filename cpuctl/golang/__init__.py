"""Go's handling of text, numbers, durations and JSON, as far as a kubelet's answers depend on it."""
