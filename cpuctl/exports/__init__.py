"""Pictures and pages of answers: plain data in, the text of one self-contained file out."""
