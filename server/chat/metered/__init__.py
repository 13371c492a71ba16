"""Metered: a Jinja environment in which every rendering has a budget of counted work."""
