"""Support archives: what tools collected from a node, presented as a recording; one module per tool."""
