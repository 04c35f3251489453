"""The papers' experiments: their protocols, their published figures, and ours beside them."""
