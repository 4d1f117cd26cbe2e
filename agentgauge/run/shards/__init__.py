"""Which machine and which worker runs which cases: computed alike everywhere, from the cases alone."""
