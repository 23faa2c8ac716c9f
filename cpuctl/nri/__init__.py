"""The Node Resource Interface: a plug-in that tells a container runtime which CPUs containers get."""
