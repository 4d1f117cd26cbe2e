"""Tools that look at pictures: text, objects, questions."""
