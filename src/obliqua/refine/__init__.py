"""Refining a whole tree by gradient: Tree in, Tree out."""
