"""Tests of the regex front end; `re.fullmatch` is the oracle."""
