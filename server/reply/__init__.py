"""Reply: from generated tokens to the events that answers and streams are folded from."""
