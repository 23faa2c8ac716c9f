"""CPU sets in control groups: what is requested, objections to it, and writing it."""
