"""The commands of `tightrope`, one module each with a `main(arguments)`."""
