"""The papers' experiments: figures and tables as declared files, and claims held against what is measured."""
