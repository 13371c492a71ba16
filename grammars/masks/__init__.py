"""Token masks: the vocabulary trie, the walk over it, matchers and mask caches."""
