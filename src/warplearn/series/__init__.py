"""Series in one form: the collection, the ways in, symbols and scaling."""
