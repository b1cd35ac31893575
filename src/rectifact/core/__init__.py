"""What the families share: threshold operators, the monitor, the operand, arrays, algebra, validation, errors."""
