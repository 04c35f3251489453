"""Tables of the papers: data, methods, published figures, and how some are shown."""
