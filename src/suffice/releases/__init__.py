"""The release file: artefact, codec, seal and card. No rows, no samplers."""
