"""Guides that a model can read; data only."""
