"""The documentation site: docs/ is prepared in build/site-docs, built there into site/, and checked."""
