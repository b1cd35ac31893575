"""What every family shares: operators, the monitor, array helpers, linear algebra, the door for data."""
