"""What the pages show, worked out from one pass. Nothing here decides anything: verdicts are read, never made."""
