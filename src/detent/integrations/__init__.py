"""Adapters for engines that decode by themselves. Each module needs its engine; importing this package needs none."""
