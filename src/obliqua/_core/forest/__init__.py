"""What trees have in common: inner products and energies over a product measure."""
