"""Kernels on other machines, or on this one's devices: one worker, shipped once, and one command per job."""
