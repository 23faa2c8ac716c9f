"""The Node Resource Interface: a plugin through which a container runtime assigns CPUs to containers."""
