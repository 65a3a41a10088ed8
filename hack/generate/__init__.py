"""Files that are made from code, so that they cannot disagree with it."""
