"""The values that a pod's control groups get."""
