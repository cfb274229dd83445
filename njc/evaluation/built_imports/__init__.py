"""Running a command on a build, and what the command's processes imported in its place."""
