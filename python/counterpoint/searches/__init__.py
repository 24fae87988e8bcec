"""The designer's search: from goals to designs that reach them and survive every crash that is tried."""
