"""Tables of our own, in the form of the papers'."""
