"""Policies for CPU allocation as plug-ins: how they are asked, and some to try. No kubelet has them."""
