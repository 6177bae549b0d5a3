"""The notations of model families, grouped by the notation of a call's arguments."""
