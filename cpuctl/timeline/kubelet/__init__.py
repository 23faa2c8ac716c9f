"""What a kubelet does by itself: it starts, takes pods back, reconciles and syncs."""
