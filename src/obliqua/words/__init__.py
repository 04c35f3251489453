"""Trees in words: what a node asks, what it holds, and numbers for a person to read."""
