//! The thin binding between the engine and the Python package: configuration in, statistics out.
