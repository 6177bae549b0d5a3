"""Tests of detent; the folders mirror src/detent."""
