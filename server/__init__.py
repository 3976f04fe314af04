"""The process: settings, wiring, transports, command line."""
