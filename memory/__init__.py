"""Remembering: experiences with their evidence, found again when they fit."""
