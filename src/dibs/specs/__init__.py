"""Markdown files with frontmatter as values: read, listed, ordered by what they wait for, drawn and checked."""
