"""Numbers of `numerics`, evaluated again by the kernel of Lean from the definitions of `Formal/`."""
