"""KubeletConfiguration as it is written: the main file, drop-ins, and what becomes of both."""
