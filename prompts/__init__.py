"""Prompts with front matter; data only."""
