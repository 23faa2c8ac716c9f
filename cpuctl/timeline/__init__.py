"""A node's history over simulated time: decisions, when CPU sets reach cgroups, and who sees what."""
