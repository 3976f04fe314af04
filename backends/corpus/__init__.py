"""Kernels in folders of the user's own: one process per kernel, which may import what the user may import."""
