"""What a node's kubelet believes, against what its control groups, threads and interrupts do."""
