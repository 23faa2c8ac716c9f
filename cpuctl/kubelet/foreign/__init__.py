"""Other tools' files that a kubelet's configuration comes from."""
