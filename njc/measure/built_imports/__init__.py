"""Running a command on a build, and checking that its processes imported the build."""
