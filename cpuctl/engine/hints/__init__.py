"""The Topology Manager: hints, merging without the product, policies."""
