"""Questions that are left with a provider in files, for less money and for later."""
