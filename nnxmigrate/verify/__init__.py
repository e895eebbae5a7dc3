"""Proves a migration on the user's own program: old code under the old Flax beside new code under the new one."""
