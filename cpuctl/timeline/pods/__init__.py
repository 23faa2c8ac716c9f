"""What becomes of pods: they come, start, are resized, learn about their CPUs, and go."""
