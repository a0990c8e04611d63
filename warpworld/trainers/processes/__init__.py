"""Several processes that train one run together: how they meet, share work, and end."""
