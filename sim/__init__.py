"""The simulated world: providers, boxes and a LiteLLM stand-in that llmao can be pointed at.

It imports nothing of llmao's own packages: it knows llmao only as its boxes do, over HTTP.
"""
