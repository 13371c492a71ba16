"""JSON Schema: normalisation and the typed algebra of JSON values."""
