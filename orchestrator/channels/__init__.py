"""Channels: one adapter per chat platform.

An adapter turns the platform's updates into `InboundMessage`s and sends `OutboundPart`s. It
depends on its platform and on `orchestrator.channel_api`, not on agents or turns.
"""
