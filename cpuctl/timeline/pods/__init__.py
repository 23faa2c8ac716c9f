"""What becomes of pods: they come, start, are resized, are told of their CPUs, and go."""
