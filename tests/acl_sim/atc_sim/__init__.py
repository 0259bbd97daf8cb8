"""A simulator of CANN's command `atc`: it refuses flags as the real one does, and writes what acl_sim loads."""
