"""The text form of answers: one module per kind of answer."""
