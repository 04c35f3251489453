"""All hyperplanes of a tree moved together, and what leaving some out would cost."""
