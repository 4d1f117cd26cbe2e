"""A small detector of drawn circles, squares and triangles: how its pictures are drawn and how it is trained."""
