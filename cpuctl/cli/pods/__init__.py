"""``cpuctl pods``: what follows from manifests."""
