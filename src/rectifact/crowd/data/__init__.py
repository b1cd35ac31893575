"""What comes in: answers from tables, files, matrices and partitions."""
