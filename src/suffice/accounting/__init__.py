"""What has been promised of one dataset, what was spent of it, and how promises add up."""
