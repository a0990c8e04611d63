"""Several processes that train one run together: their rendezvous, their shares of the work, and their end."""
