"""AccelOpt's benchmark, read from the user's own checkout: its cases found, run, compared and timed."""
