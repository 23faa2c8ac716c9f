"""A machine as the kubelet sees it, through cAdvisor."""
