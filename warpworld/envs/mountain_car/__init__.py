"""Mountain Car: a car in a valley, with three actions or with a force."""
