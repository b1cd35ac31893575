"""Files: tables, matrices, partitioned folders, archives and checkpoints."""
