"""Models. Only the adapters know a wire format, and only they import an SDK.

model        the protocol of all models, and layers around one
scripted     a model with fixed replies
prices       what calls cost
conversation, strict_schema, reply_json, network, remote     shared by the adapters
openai, anthropic                                            the adapters
fallback     several models, asked in order
choose       from the options to the model
"""
