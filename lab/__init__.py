"""Deciding: problems, cases, gates, statistics, attempts, the guard, the report."""
