"""Stage 3: from Boolean combinations of assertions to plans: sets of scalars, and members and items in order."""
