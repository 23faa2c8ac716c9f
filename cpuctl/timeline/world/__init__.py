"""What there is at one moment of a replay: pods, files, the kubelet that runs, and what has happened."""
