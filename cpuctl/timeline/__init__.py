"""A node's history over simulated time: decisions, CPU sets in cgroups, and what is visible when."""
