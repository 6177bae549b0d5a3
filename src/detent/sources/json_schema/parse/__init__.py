"""Stage 1: from JSON text to a tree of plain values, and from references to the schemas that they name."""
