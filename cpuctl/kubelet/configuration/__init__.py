"""KubeletConfiguration as written: the main file, drop-ins, and the merged result."""
