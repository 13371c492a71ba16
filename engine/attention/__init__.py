"""Attention over the paged KV pool, behind transformers' attention interface."""
