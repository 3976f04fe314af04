"""Where the current dialect shows itself."""
