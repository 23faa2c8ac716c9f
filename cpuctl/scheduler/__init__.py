"""The scheduler's decisions: the node that a pod is bound to, based on Node objects.

Pure: values in, decisions out. What the kubelet on that node does with the pod is up to the engine.
"""
