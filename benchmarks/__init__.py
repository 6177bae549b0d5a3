"""Figures of detent beside its peers', taken in one run; and masks beside the oracle's."""
