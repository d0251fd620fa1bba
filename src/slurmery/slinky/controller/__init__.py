"""Controller: slurmctld, its configuration, its Services and its standbys."""
