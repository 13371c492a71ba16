"""Wire types of the Responses API, and what they come to as a chat request."""
