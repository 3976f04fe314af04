"""Kernels on a Ray cluster: its scheduling, retries and placement, the same worker and job folder inside a task."""
