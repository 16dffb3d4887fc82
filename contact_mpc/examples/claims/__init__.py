"""Single statements of the talks, each shown by numbers and one figure; runs of whole scenes stand a folder above.

None imports another.
"""
