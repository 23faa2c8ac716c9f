"""Many nodes at once: finding them, the answer of each, and the summary of all answers."""
