"""What keeps constraints on the model's device: masks in a pool, automata, and their kernels."""
