"""Resources that a pod holds as a whole and divides among its containers (KEP-5526)."""
