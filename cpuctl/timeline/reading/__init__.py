"""The reading of timelines: documents, events, expectations."""
