"""How CPU sets and quotas of control groups are changed: in a safe order, wholly or not at all."""
