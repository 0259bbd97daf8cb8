"""The checks of a repository, a family of rules a file."""
