"""Environments of other libraries, behind the contract of a World."""
