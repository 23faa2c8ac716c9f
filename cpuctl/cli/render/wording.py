"""Small pieces of sentences: those of pictures and pages, too."""

from cpuctl.exports.wording import byte_text, counted, few

__all__ = ["byte_text", "counted", "few"]
