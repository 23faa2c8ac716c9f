"""Text to plain data with positions: YAML and JSON as mappings, lists, texts, numbers, true, false and null.

``loading.load_documents`` reads; ``cursor.Cursor`` gives typed access and, if something is wrong, an
error that names file, line and path.
"""
