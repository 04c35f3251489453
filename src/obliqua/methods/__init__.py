"""One file per method: what is proposed at a node."""
