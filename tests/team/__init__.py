"""`specs:` shared by a team through git: real clones, real processes, kills, a refusing remote, and users who edit."""
