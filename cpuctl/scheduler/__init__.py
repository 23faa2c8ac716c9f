"""What the scheduler decides: which node a pod is sent to, based on Node objects.

Pure: values in, decisions out. What the kubelet there makes of the pod is the engine's business.
"""
