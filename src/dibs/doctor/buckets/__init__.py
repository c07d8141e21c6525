"""What a bucket must do to hold a queue: conditional writes with one winner, and what is read and listed after them."""
