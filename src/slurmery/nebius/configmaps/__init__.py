"""ConfigMaps with the files of the cluster, and the JailedConfigs that bring them into the shared root."""
