"""cpuctl: what the kubelet's CPU, memory and topology managers do on a node, and why."""

__version__ = "0.1.0.dev0"
