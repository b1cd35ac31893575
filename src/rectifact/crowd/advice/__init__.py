"""What a fitted crowd model tells its user: about workers, what to label next, what is wrong, how sure it is."""
