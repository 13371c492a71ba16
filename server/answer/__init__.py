"""Answer: the same steps of a generation, folded to one body or encoded as a stream."""
