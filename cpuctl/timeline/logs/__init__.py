"""Logs of kubelets as timelines: what came, in which order, and what the kubelet made of it."""
