"""Wire: the shapes of requests and answers, in OpenAI's names."""
