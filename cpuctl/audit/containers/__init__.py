"""Containers against what the kubelet gives them: CPUs, memory nodes, threads, quotas."""
