"""The best cut of one node: criteria, sorted columns, any direction, planes that move."""
