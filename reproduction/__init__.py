"""The papers' tables again: their protocols, their published figures, and ours beside them.

This package stands beside the library and is not installed with it. ``obliqua reproduce`` finds it
in a clone of the repository.
"""
