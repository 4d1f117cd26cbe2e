"""What runs cases, without pytest: settings, services, and the runner that makes records of cases."""
