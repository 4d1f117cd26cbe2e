"""What the benchmarks share; knows none of them."""

import gc

# what is there already, pytest with its plugins, say, lives on; looking through it during our imports takes 20 ms
gc.freeze()
