"""The contract suite by topic, one class each."""
