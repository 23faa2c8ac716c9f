"""Feature gates, release by release."""
