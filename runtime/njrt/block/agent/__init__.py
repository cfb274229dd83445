"""The conversation of one block with a model.

Block  ->  Request  ->  Reply  ->  Effect  ->  Result  ->  Outcome
"""
