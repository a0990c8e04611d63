"""A session of training, whoever asks for it: from a trainer and its run folder to the end, with lines on the way."""
