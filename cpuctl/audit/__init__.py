"""The state that a node's kubelet assumes, compared with its control groups, threads and interrupts."""
