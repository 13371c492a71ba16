"""Routes: the HTTP paths, each a few lines over the parts that do the work."""
