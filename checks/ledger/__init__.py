"""The ledger: every headline theorem, what it says of real heads, and how far the measured numbers are from it."""
