"""The papers' experiments: figures and tables as declared files, and claims compared with measured values."""
