"""What a user calls: simulations, crashes, checks, recordings, litmus tests, and their results as tables."""
