"""Speed of environments and configs, measured in turn."""
