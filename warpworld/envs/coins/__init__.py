"""Two coins: matching pennies."""
