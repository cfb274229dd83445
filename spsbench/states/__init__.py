"""States of executed programs: record them, and read and write them in two forms."""
