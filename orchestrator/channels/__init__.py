"""Channels: one adapter per chat platform.

An adapter turns the platform's updates into `InboundMessage`s and sends `OutboundPart`s. It knows
its platform and the contract in `orchestrator.channel_api`, and nothing of agents or turns.
"""
