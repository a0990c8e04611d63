"""The packaged run configurations: one YAML file a run."""
