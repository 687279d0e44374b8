"""Random histories of Paimon tables, which Java carries out and both read."""
