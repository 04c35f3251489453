"""What all kernels stand on: rows as they are, random numbers, sorting, small matrices, sums."""
