"""Who runs next where more is asked for than there are cores: between clients, problems and calls, and servers."""
