"""A run whose cases are solved on other machines: a driver cuts its plan into shards, and Ray runs them."""
