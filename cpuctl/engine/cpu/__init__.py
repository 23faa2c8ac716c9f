"""The CPU Manager: its view of the CPUs, who gets exclusive ones, and which."""
