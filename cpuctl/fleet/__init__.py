"""Many nodes at once: which there are, each one's answer, and the summary of all answers."""
