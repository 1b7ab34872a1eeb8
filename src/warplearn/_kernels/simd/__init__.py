"""What kernels are written in: the vector type, constants and records, arrays, threads."""
