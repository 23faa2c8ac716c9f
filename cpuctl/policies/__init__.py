"""Policies for CPU allocation as plugins: how they are asked, and some to try. No kubelet has them."""
