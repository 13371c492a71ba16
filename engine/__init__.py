"""Engine: the step loop that turns token ids into token ids (scheduler, KV cache, model runner, sampler)."""
