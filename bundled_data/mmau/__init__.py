"""The scripts that write the bundled records of Apple MMAU."""
