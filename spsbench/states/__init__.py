"""States of executed programs: recording them, and reading and writing them in two forms."""
