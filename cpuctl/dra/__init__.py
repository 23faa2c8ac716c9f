"""Dynamic resource allocation of CPUs: the devices that the driver ``dra.cpu`` publishes, and claims."""
