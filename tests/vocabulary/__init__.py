"""Tests of detent.vocabulary."""
