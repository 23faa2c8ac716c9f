"""The life of pods: creation, start, resizes, exposed CPUs, and deletion."""
