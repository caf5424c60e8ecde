"""One query of a text: what each band contributes to the attention that each key gets."""
