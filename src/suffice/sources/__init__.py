"""Rows in: whatever holds a table, read in fragments, a batch at a time, only the columns asked for."""
