"""Adapters for engines that decode by themselves; each module needs its engine, and importing this package needs none."""
