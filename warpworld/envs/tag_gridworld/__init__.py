"""Tag on a grid."""
