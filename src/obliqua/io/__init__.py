"""Model files: what they hold, and how they are written and read."""

from obliqua.io.files import read_model, write_model
from obliqua.io.format import FORMAT, VERSION

__all__ = ["FORMAT", "VERSION", "read_model", "write_model"]
