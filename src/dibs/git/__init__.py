"""What is shared through a git remote: cells as refs, and files of a branch, beside the user's work in the clone."""
