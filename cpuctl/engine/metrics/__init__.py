"""What the kubelet's own metrics would read: counted while the managers decide, quirks and all."""
