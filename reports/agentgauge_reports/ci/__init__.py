"""What a run tells the page of a CI job."""
