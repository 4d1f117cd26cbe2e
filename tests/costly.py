"""For properties whose examples cost more than 5 ms: a quarter of the profile's examples."""

from hypothesis import settings

COSTLY = settings(max_examples=settings.default.max_examples // 4)
