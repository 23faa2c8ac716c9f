"""Other tools' files from which a kubelet's configuration is derived."""
