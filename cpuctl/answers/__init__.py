"""The shapes of everything cpuctl answers, told once.

Builders (``answering``) make these, renderers and exports read them, and ``make docs`` writes the published
schemas from them: class docstrings and the strings below members become descriptions. The modules hold types
only, and are imported under ``TYPE_CHECKING`` alone, so that no command pays for them.
"""
