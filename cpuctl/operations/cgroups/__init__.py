"""CPU sets in control groups: what is wanted, what stands against it, and writing it."""
