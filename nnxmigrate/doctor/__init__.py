"""Which releases a project asks for or has installed, whether they go together, and which to choose."""
