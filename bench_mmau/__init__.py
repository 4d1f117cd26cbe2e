"""Apple MMAU: five domains, twenty tasks, every prompt stored."""
