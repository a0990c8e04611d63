"""The environments that come with warpworld."""
