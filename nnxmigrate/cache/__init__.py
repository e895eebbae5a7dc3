"""What runs found, kept beside the project so that the next run need not look again."""
