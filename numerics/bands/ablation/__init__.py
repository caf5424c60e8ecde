"""What a model loses when its least important bands are taken out of its queries."""
