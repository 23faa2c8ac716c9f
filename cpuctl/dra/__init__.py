"""Dynamic resource allocation of CPUs: what the driver ``dra.cpu`` publishes, and what claims get of it."""
