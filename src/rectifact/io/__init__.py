"""Files: tables, matrices, folders of partitions, archives and checkpoints."""
