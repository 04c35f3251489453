"""One file per method: where it looks for hyperplanes."""
