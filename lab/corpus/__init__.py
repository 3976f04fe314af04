"""Folders of kernels that were not written here: what is in them, what was stated of it, and how it fared."""
