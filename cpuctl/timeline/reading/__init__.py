"""Timelines as they are written: documents, events, expectations."""
