"""The only package of the project that touches Triton's private interfaces.

``wheel`` reads the installed wheel without importing it; the other modules import Triton. Everything upstream may
rename or move is reached from here and nowhere else, so a new Triton release is met in one place.
"""
