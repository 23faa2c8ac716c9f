"""Operations on the inputs: plan, resize, check, change saved state, write CPU sets."""
