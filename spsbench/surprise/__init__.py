"""Whether `njrt.using(predict=...)` notices wrong effects, planted in the 25 programs."""
