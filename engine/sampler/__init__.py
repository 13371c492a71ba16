"""Choosing the next tokens from logits, vectorised over the batch."""
