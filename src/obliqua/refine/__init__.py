"""Refining a whole tree by gradient: Tree in, Tree out.

- `rows`: the rows as floats, in an order of their own.
- `draft`: a tree while it is refined, and back.
- `descent`: all hyperplanes and leaves moved together.
- `shrink`: subtree raising, and few columns per split and in all.
- `nested`: trees of many sizes from one descent.
- `choice`: what cross-validation decides.
- `regrow`: complete trees of hyperplanes at random, to begin anew with.
- `recipe`: the stages put together, and cycles.
"""

from obliqua.refine.descent import Schedule, Watch
from obliqua.refine.recipe import Recipe, columns_that_matter, refine_only, refined_tree

__all__ = [
    "Recipe",
    "Schedule",
    "Watch",
    "columns_that_matter",
    "refine_only",
    "refined_tree",
]
