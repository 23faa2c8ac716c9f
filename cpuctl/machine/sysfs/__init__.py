"""A machine as its kernel describes it."""
