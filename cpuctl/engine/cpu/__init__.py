"""The CPU Manager: its picture of the CPUs, who gets exclusive ones, and which."""
