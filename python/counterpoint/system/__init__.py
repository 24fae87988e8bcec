"""The computer around the program: files, databases, signals, streams, and how values are shown."""
