"""Axis-parallel splits: every feature is a direction, as in CART (Breiman et al. 1984).

The engine keeps the columns sorted while it divides nodes, so there is nothing to propose: this
is the method that needs no proposer.
"""

from obliqua.engine.proposals import Proposals

__all__ = ["AXIS"]

AXIS = Proposals(proposer=None, axis_parallel=True)
