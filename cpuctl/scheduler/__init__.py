"""What the scheduler decides: which node a pod is sent to, by what a Node object tells of it.

Pure: values in, decisions out. What the kubelet there makes of the pod is the engine's business.
"""
