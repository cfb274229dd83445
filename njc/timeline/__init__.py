"""The timeline of a run: the steps that natural blocks take, from a trace or from a run under control."""
