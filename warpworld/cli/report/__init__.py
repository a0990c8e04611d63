"""`warpworld report`: a page about runs, with a replay and the returns of random play."""
