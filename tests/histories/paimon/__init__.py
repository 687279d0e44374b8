"""Random histories of Paimon tables, which Java performs, and which both Java and frazil read."""
