"""What an answer looks like as text: one module an answer, by its kind."""
