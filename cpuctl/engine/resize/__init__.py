"""In-place resize of exclusive CPUs (KEP-5554, preview): no released kubelet has the allocator."""
