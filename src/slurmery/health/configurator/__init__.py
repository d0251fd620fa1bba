"""NodeConfigurators: DaemonSets that prepare Kubernetes nodes and bring the rebooter to them."""
