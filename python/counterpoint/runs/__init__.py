"""Many runs: along axes, each computed once, kept in a file, on this computer or a cluster."""
