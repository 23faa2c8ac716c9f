"""Parts of layouts that are large, or serve several."""
