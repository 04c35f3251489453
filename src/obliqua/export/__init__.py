"""Trees as text, rules and graphs."""
