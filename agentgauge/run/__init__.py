"""What runs cases, without pytest: settings, prefetcher, slots, services, from a case to its record."""
