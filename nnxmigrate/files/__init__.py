"""Files: finding them, reading them as Python text, writing them."""
