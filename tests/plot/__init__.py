"""Tests of the pictures; `pictures` measures what was drawn."""
