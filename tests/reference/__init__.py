"""Slow, obvious twins of the compiled engine: its specification.

Nothing here is clever and nothing here is imported by the library. Class sums are Python
integers, so no sum can round or overflow; floating point appears only where the engine's own
rules prescribe it, in the prescribed order of operations, so that results may be compared
bit for bit.
"""
