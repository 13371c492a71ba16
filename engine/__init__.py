"""Engine: the step loop from token ids to token ids: scheduler, KV cache, model runner, sampler."""
