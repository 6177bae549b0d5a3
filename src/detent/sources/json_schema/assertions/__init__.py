"""Stage 2: from the keywords of each schema to typed assertions about JSON values."""
