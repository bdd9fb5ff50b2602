"""What a person reads: a view for the terminal and a page for the browser."""
