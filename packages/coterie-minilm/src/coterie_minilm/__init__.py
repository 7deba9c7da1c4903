"""The sentence encoder all-MiniLM-L6-v2, in the folder ``model`` beside this file."""
