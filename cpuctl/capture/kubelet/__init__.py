"""The kubelet of the node that is recorded."""
