"""Models: who is asked, and how. Only the adapters know a wire format, and only they import an SDK.

model        the protocol that all models keep, and layers around one
scripted     replies written down beforehand
prices       what calls cost
conversation, network, remote        what the adapters stand on
openai, anthropic                    the adapters
fallback     several models in place of one
choose       from the options to the model
"""
