"""Rules on names and signatures that changed between releases."""
