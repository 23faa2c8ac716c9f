"""Parts of layouts that are large, or used by several layouts."""
