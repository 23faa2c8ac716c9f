"""The Node Resource Interface: a plugin that tells a container runtime which CPUs containers get."""
