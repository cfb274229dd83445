"""A web service that sorts messages of customers by a natural block; see the README beside this folder."""
