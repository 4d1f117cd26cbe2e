"""Allure's results of a run, and its dashboard."""
