"""Tests of the grammar readers."""
