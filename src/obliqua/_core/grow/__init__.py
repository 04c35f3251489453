"""Growing: subtrees without the GIL, and what they ask of a method."""
