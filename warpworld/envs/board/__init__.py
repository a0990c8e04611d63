"""Games on a board, which two players play by turns."""
