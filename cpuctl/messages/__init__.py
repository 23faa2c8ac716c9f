"""What kubelets, API servers, runtimes and kernels print about CPUs and memory, and what it means."""
