"""Whether `njrt.using(predict=...)` notices wrong effects: planted ones in the 25 programs."""
