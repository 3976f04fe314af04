"""The nine gates, each with one way in."""
