"""Stage 4: from plans to expressions of the core, in a given spelling of JSON values."""
