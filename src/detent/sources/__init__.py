"""Sources: the notations that a language can be written in, one package each; every source gives a `Language`."""
