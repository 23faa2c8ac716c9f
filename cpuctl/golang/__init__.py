"""Go's ways with text, numbers, durations and JSON, as far as a kubelet's answers show them."""
