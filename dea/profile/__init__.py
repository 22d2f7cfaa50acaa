"""Pure code that every sampler shares: from sampled stacks to hot frames, folded stacks and pictures."""
