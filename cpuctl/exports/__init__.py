"""Pictures and pages of answers, for people: plain data in, text of one self-contained file out."""
