"""Text to plain data with places: YAML and JSON as mappings, lists, texts, numbers, true, false and null.

``load_documents`` reads; ``Cursor`` gives typed access and, where something is wrong, an error that
names file, line and path.
"""

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Document, Origin, Value, path_text
from cpuctl.documents.loading import load_documents

__all__ = ["Cursor", "Document", "Origin", "Value", "load_documents", "path_text"]
