"""Tests of the notations that a language can be written in."""
