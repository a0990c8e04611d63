"""Play an environment in the browser: one env, of which a person plays an agent."""
