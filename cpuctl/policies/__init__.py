"""CPU allocation policies as plugins: how cpuctl runs them, and some examples. No kubelet has them."""
