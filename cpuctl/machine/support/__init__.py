"""Support archives: what tools collected of a node, seen as a recording of it; a module a tool."""
