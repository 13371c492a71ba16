"""Wire types of Anthropic's Messages API, and what they come to as a chat request."""
