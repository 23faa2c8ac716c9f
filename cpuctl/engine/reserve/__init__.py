"""Reservations that a kubelet will accept: which CPUs, and how much memory of every NUMA node."""
