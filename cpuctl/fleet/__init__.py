"""Many nodes at once: which there are, each one's answer, and what those come to together."""
